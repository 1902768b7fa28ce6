"""Signatures of memory that ran out on the host: killers, limits, loader workers, /dev/shm.

Wordings: Linux kernel, systemd, earlyoom, Slurm, PBS, LSF, HTCondor, Kubernetes, YARN, Ray,
Dask, PyTorch, NCCL.
"""

from __future__ import annotations

from .form import Signature

MEMORY: tuple[Signature, ...] = (
    Signature(  # kernel; Kill process … score: Linux < 5.1
        "memcg-oom",
        "cgroup_oom_kill",
        r"Memory cgroup out of memory(?:: Kill(?:ed)? process (?P<pid>\d+) \((?P<name>[^)]*)\))?"
        r"|oom-kill:constraint=CONSTRAINT_MEMCG"
        r"|\bTask in \S+ killed as a result of limit of ",
        source="linux mm/oom_kill.c, mm/memcontrol.c",
    ),
    Signature(  # slurm
        "slurm-oom",
        "cgroup_oom_kill",
        r"[Dd]etected (?P<count>\d+) oom[-_]kill event"
        r"|Exceeded (?:job|step) memory limit"
        r"|slurmstepd: error: .{0,40}exceeded (?:\w+ )?memory limit"
        r"|\b(?:Job)?State\s*[:=]\s*OUT_OF_MEMORY"
        r"|\bOUT_OF_ME\+"
        r"|cgroup out-of-memory handler"
        r"|Ended, Run time \S+, OUT_OF_MEMORY",
        source="slurm src/plugins/cgroup, src/plugins/jobacct_gather, contribs/seff",
    ),
    Signature(  # slurm
        "slurm-task-oom",
        "cgroup_oom_kill",
        r"srun: error: \S+: tasks? [\d,-]+: Out Of Memory",
        role="confirmation",
        severity="warning",
        source="slurm src/srun/libsrun/launch.c",
    ),
    Signature(
        "container-oom",
        "cgroup_oom_kill",
        r"\bOOMKilled\b(?!\W{0,4}(?:[Ff]alse|0\b|No\b))"
        r"|\bTaskOOM\b"
        r"|[Cc]ontainer .{0,80}\b(?:was )?OOM[- ]killed"
        r"|killed by YARN for exceeding (?:\w+ )?memory limits"
        r"|running beyond (?:physical|virtual) memory limits"
        r"|\bTERM_MEMLIMIT: job killed"
        r"|PBS: job killed: (?:v?p?mem|mem job total) .{0,60}exceeded limit"
        r"|Cgroup mem limit exceeded"
        r"|has gone over (?:cgroup )?memory limit of"
        r"|[Ww]orker exceeded \d+% memory budget"
        r"|crashed after using all available RAM"
        r"|tried to allocate more memory than is available"
        r"|[Cc]ontainer killed due to memory usage"
        r"|\bran out-of-memory and exited",
        source="kubernetes, moby, containerd, LSF, PBS, HTCondor, YARN, dask.distributed, Colab, Kaggle",
    ),
    Signature(  # kernel; Kill process … score: Linux < 5.1
        "kernel-oom",
        "host_oom_kill",
        r"(?<!cgroup )\b[Oo]ut of memory(?: \(oom_kill_allocating_task\))?: Kill(?:ed)? process (?P<pid>\d+) \((?P<name>[^)]*)\)"
        r"|oom-kill:constraint=CONSTRAINT_(?:NONE|CPUSET|MEMORY_POLICY)"
        r"|\bOut of memory and no killable processes",
        source="linux mm/oom_kill.c",
    ),
    Signature(  # kernel
        "kernel-oom-victim",
        "host_oom_kill",
        r"(?<!memory: )(?<!task\): )\bKilled process (?P<pid>\d+) \((?P<name>[^)]*)\),? (?:UID|total-vm)",
        role="confirmation",
        source="linux mm/oom_kill.c",
    ),
    Signature(
        "oom-daemon",
        "host_oom_kill",
        r"(?<!\(1\) the process was )killed by the OOM killer"
        r"|[Ff]ailed with result 'oom-kill'"
        r"|systemd-oomd.{0,20} [Kk]illed "
        r"|\bKilled /\S+ due to memory (?:pressure|used)"
        r"|low memory! at or below SIG(?:TERM|KILL) limits"
        r"|[Ss]ending SIG(?:TERM|KILL) to process \d+ (?:uid \d+ )?[\"'].{1,80}[\"']: (?:badness|oom_score)"
        r"|The node was low on resource: memory"
        r"|(?i:killed due to (?:the node running low on memory|memory pressure \(OOM\)))",
        source="systemd, systemd-oomd, earlyoom, kubelet eviction, ray memory monitor",
    ),
    Signature(  # kernel
        "kernel-oom-invoked",
        "host_oom_kill",
        r"\b\S+ invoked oom-killer: gfp_mask"
        r"|oom_reaper: reaped process \d+",
        role="confirmation",
        severity="info",
        fatal=False,
        source="linux mm/oom_kill.c",
    ),
    Signature(
        "host-alloc",
        "host_alloc_failed",
        r"^(?:[\w.]*\.)?_?(?:Array)?MemoryError\b(?!.*(?i:cuda|gpu|device))"
        r"|(?:^|: |an instance of ')std::bad_alloc\b"
        r"|DefaultCPUAllocator: (?:not enough memory|can't allocate memory)"
        r"|\[WinError 1455\]"
        r"|^memory allocation of \d+ bytes failed"
        r"|\[Errno 12\] (?:Cannot allocate memory|Not enough space)"
        r"|\bUnable to allocate [\d.]+ [KMGTP]iB for an array"
        r"|^(?:Exception in thread \"[^\"]{0,200}\" |Caused by: )?java\.lang\.OutOfMemoryError"
        r"|JavaScript heap out of memory"
        r"|\bcannot allocate vector of size"
        r"|fatal error: (?:runtime: )?out of memory$"
        r"|^(?:ERROR: )?OutOfMemoryError\(\)$",
        source="cpython, numpy _exceptions.py, libstdc++, Rust alloc.rs, c10/core/impl/alloc_cpu.cpp, Windows, the JVM, V8, R, Go, Julia",
    ),
    Signature(  # pytorch
        "dataloader-worker",
        "dataloader_worker_killed",
        r"DataLoader worker \(pid(?:\(s\))? [\d, ]+\) (?:is killed by signal: (?!Bus error)(?P<signal_name>[\w ]+)"
        r"|exited unexpectedly)"
        r"|[Pp]in memory thread exited unexpectedly"
        r"|[Uu]nexpected (?!bus error)[\w -]{5,30} encountered in worker"
        r"|DataLoader process \(pid .{1,300}\) exited unexpectedly"
        r"|DataLoader \d+ workers? exit(?:ed)? unexpectedly",
        source="pytorch torch/csrc/DataLoader.cpp, torch/utils/data/dataloader.py",
    ),
    Signature(
        "shm",
        "shm_exhausted",
        r"killed by signal: Bus error"
        r"|[Uu]nexpected bus error encountered in worker"
        r"|insufficient shared memory \(shm\)"
        r"|unable to (?:write to file"
        r"|mmap \d+ bytes from file"
        r"|open shared memory object"
        r"|resize"
        r"|allocate shared memory)(?!.{0,80}(?i:too many open)).{0,20}(?:</?torch_|shared memory|\(shm\))"
        r"|\(exitcode: -7\)"
        r"|(?i:error while creating shared memory segment)"
        r"|/dev/shm.{0,80}No space left"
        r"|failed to extend /dev/shm/"
        r"|No space left on device.{0,20}(?:/dev/shm|'/psm_)"
        r"|posix_fallocate failed ?: No space left"
        r"|\bObjectStoreFullError\b",
        source="pytorch torch/csrc/DataLoader.cpp, aten MapAllocator.cpp; nccl misc/shmutils.cc; cpython shared_memory; ray",
    ),
    Signature(
        "bus-error",
        "shm_exhausted",
        r"(?:^|[\]|>%:]\s*|\dZ\s)(?:Bus error"
        r"|总线错误"
        r"|匯流排錯誤"
        r"|バスエラー"
        r"|Ошибка шины"
        r"|Bus-Zugriffsfehler"
        r"|Erreur (?:de|du) bus"
        r"|Error del? bus"
        r"|Errore di bus)\s*(?:\(.{1,40}\))?\s*$"
        r"|[:：]\s+\d+\s+(?:Bus error|总线错误)\s"
        r"|Fatal Python error: Bus error"
        r"|\bCaught signal 7\b"
        r"|status=7/BUS"
        r"|exited on signal 7\b"
        r"|(?i:\bexit(?:ed)?(?: with)?(?: exit)?[ _-]?(?:code|status)?)\s{0,3}[:=(]?\s{0,8}135\b"
        r"|zsh: bus error",
        source="glibc strsignal and its translations, bash, cpython faulthandler",
    ),
)
