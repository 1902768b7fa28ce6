"""Signatures of the box: host memory, shared memory, disks, file systems, the kernel.

Wordings: Linux kernel, libc, Slurm, Kubernetes, PyTorch.
"""

from __future__ import annotations

from .signature import Signature

BOX: tuple[Signature, ...] = (
    Signature(
        "kernel-oom",
        "host_oom_kill",
        r"(?<!cgroup )[Oo]ut of memory: Kill(?:ed)? process (?P<pid>\d+) \((?P<name>[^)]*)\)|oom-kill:constraint=CONSTRAINT_(?:NONE|CPUSET|MEMORY_POLICY)"
        r"|(?<!memory: )\bKilled process \d+ \([^)]*\),? (?:UID|total-vm)|killed by the OOM killer|systemd-oomd.{0,20} [Kk]illed ",
        (
            "out of memory: kill",
            "oom-kill:constraint",
            "killed process",
            "oom killer",
            "systemd-oomd",
        ),
        (
            "[99.1] Out of memory: Killed process 4711 (python3) total-vm:1kB, anon-rss:1kB",
            "train.service: A process of this unit has been killed by the OOM killer.",
            "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),global_oom,task=python3,pid=4711,uid=0",
        ),
        ("Memory cgroup out of memory: Killed process 4711 (python3)", "vm.overcommit_memory = 1"),
        frameworks=("kernel",),
    ),
    Signature(
        "kernel-oom-invoked",
        "host_oom_kill",
        r"\b\S+ invoked oom-killer: gfp_mask|oom_reaper: reaped process \d+",
        ("invoked oom-killer", "oom_reaper"),
        ("python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",),
        ("oom_score_adj set to -500",),
        role="confirmation",
        severity="info",
        fatal=False,
        frameworks=("kernel",),
    ),
    Signature(
        "cgroup-oom",
        "cgroup_oom_kill",
        r"Memory cgroup out of memory(?:: Kill(?:ed)? process (?P<pid>\d+))?|oom-kill:constraint=CONSTRAINT_MEMCG|[Dd]etected (?P<count>\d+) oom[-_]kill event"
        r"|\bOOMKilled\b(?!\W{0,3}(?:[Ff]alse|0\b))|Exceeded (?:job|step) memory limit|State: OUT_OF_MEMORY|cgroup out-of-memory handler",
        ("cgroup out", "oom-kill", "oom_kill", "oomkilled", "memory limit", "out_of_memory"),
        (
            "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=7.0. Some of your processes may have been killed",
            "Memory cgroup out of memory: Killed process 31337 (python) total-vm:9kB",
            "  Reason:       OOMKilled",
        ),
        ('"OOMKilled": false,', "memory limit is 64 GiB"),
    ),
    Signature(
        "slurm-task-oom",
        "cgroup_oom_kill",
        r"srun: error: \S+: tasks? [\d,-]+: Out Of Memory",
        ("out of memory",),
        ("srun: error: node07: task 3: Out Of Memory",),
        ("srun: error: node07: task 3: Killed",),
        role="confirmation",
        severity="warning",
        frameworks=("slurm",),
    ),
    Signature(
        "dataloader-worker",
        "dataloader_worker_killed",
        r"DataLoader worker \(pid(?:\(s\))? [\d, ]+\) (?:is killed by signal: (?P<signal_name>[\w ]+)|exited unexpectedly)",
        ("dataloader worker",),
        (
            "RuntimeError: DataLoader worker (pid 4711) is killed by signal: Killed. ",
            "RuntimeError: DataLoader worker (pid(s) 12, 13) exited unexpectedly",
        ),
        ("This DataLoader will create 16 worker processes in total.",),
        frameworks=("pytorch",),
    ),
    Signature(
        "shm",
        "shm_exhausted",
        r"killed by signal: Bus error|[Uu]nexpected bus error encountered in worker|insufficient shared memory \(shm\)"
        r"|unable to (?:write to file|mmap \d+ bytes from file|open shared memory object|resize|allocate shared memory).{0,20}(?:</?torch_|shared memory|\(shm\))"
        r"|^Bus error\b|: line \d+:\s+\d+ Bus error|Fatal Python error: Bus error|\(exitcode: -7\)|(?i:error while creating shared memory segment)|/dev/shm.{0,60}No space left|No space left on device.{0,20}/dev/shm",
        (
            "bus error",
            "insufficient shared",
            "unable to",
            "exitcode: -",
            "shared memory segment",
            "/dev/shm",
        ),
        (
            "RuntimeError: DataLoader worker (pid 9) is killed by signal: Bus error. It is possible that workers are out of shared memory.",
            "RuntimeError: unable to write to file </torch_1234_5678>: No space left on device",
            "Bus error (core dumped)",
        ),
        ("using /dev/shm of 64 GiB", "unable to resize image 12.png"),
    ),
    Signature(
        "disk-full",
        "disk_full",
        r"(?<!inodes: )No space left on device(?! *\(inode)|\[Errno 28\]|\bENOSPC\b|There is not enough space on the disk|[Dd]isk (?:is )?full\b(?! of)|not enough (?:free )?disk space",
        (
            "no space left",
            "[errno",
            "enospc",
            "space on the disk",
            "disk full",
            "disk is full",
            "disk space",
        ),
        (
            "OSError: [Errno 28] No space left on device: '/data/ckpt/step_100.pt'",
            "cp: error writing 'x': No space left on device",
        ),
        ("/dev/loop0  99M  99M  0 100% /snap/core", "disk usage 83 %"),
    ),
    Signature(
        "inodes",
        "inode_exhausted",
        r"(?i)(?:no (?:free|more) inodes|out of inodes|inodes? (?:limit|quota|usage) (?:exceeded|exhausted)|inodes exhausted)",
        ("inode",),
        ("cannot create file: out of inodes on /data",),
        ("Inodes 1000000 IUsed 12852 IFree 987148", "df -i shows the inodes"),
    ),
    Signature(
        "quota",
        "quota_exceeded",
        r"(?i)disk quota exceeded|\[Errno 122\]|\bEDQUOT\b|user block quota|over (?:disk|file) quota",
        ("quota", "[errno", "edquot"),
        ("OSError: [Errno 122] Disk quota exceeded: '/home/u/ckpt.pt'",),
        ("HTTP 429: API quota exceeded for project", "your quota is 1 TB"),
    ),
    Signature(
        "fds",
        "fd_exhausted",
        r"(?i:too many open files)|\[Errno 2[34]\]|\bEMFILE\b|VFS: file-max limit \d+ reached|received 0 items of ancdata",
        ("too many open files", "[errno", "emfile", "file-max limit", "items of ancdata"),
        (
            "OSError: [Errno 24] Too many open files: '/data/x'",
            "RuntimeError: received 0 items of ancdata",
        ),
        (
            "ulimit: open files 1048576",
            "FileNotFoundError: [Errno 2] No such file or directory: 'a'",
        ),
    ),
    Signature(
        "io-error",
        "io_error",
        r"\[Errno (?:5|30|107|116|121)\]|(?<![Bb]uffer )\bInput/output error|Stale (?:NFS )?file handle|Transport endpoint is not connected|Read-only file system",
        ("[errno", "input/output error", "stale", "transport endpoint", "read-only file system"),
        (
            "OSError: [Errno 5] Input/output error",
            "OSError: [Errno 116] Stale file handle: '/mnt/nfs/a.bin'",
        ),
        ("mounted read-only file-system image cache", "OSError: [Errno 17] File exists: 'out'"),
    ),
    Signature(
        "disk-error",
        "disk_error",
        r"(?:blk_update_request|print_req_error): .{0,40}error|\bI/O error, dev \w+|\bMedium Error\b|Unrecovered read error|FAILED Result: hostbyte|Buffer I/O error on dev|nvme nvme\d+: .{0,60}(?:timeout|controller is down|Removing after probe|resetting controller)"
        r"|ata\d+(?:\.\d+)?: (?:failed command|exception Emask)|critical (?:medium|target) error",
        (
            "i/o error",
            "blk_update_request",
            "print_req_error",
            "nvme nvme",
            "failed command",
            "exception emask",
            "critical medium",
            "critical target",
            "medium error",
            "unrecovered read",
            "failed result",
        ),
        (
            "blk_update_request: I/O error, dev sdb, sector 12345 op 0x0",
            "nvme nvme0: I/O 12 QID 3 timeout, aborting",
        ),
        ("nvme nvme0: 32/0/0 default/read/poll queues", "ata1: SATA link up 6.0 Gbps"),
        frameworks=("kernel",),
    ),
    Signature(
        "fs-error",
        "fs_error",
        r"EXT4-fs error|EXT4-fs \(\w+\): .{0,40}(?:aborting|Remounting)|XFS \([\w-]+\): (?:[Cc]orruption|[Mm]etadata (?:I/O error|corruption)|log I/O error)|Remounting filesystem read-only"
        r"|BTRFS (?:error|critical)|JBD2: .{0,60}[Ee]rror|nfs: server \S+ not responding|[Ss]hutting down filesystem|LustreError: |\[Errno 117\]",
        (
            "lustreerror",
            "down filesystem",
            "[errno",
            "xfs (",
            "remounting filesystem",
            "btrfs",
            "jbd",
            "not responding",
            "-fs error",
            "-fs (",
        ),
        (
            "EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2: comm python",
            "nfs: server filer not responding, still trying",
        ),
        (
            "EXT4-fs (sda1): mounted filesystem with ordered data mode",
            "BTRFS info (device sdb): disk space caching is enabled",
        ),
        severity="warning",
        fatal=False,
        frameworks=("kernel",),
    ),
    Signature(
        "mce-uncorrected",
        "mce",
        r"EDAC .{0,20}: (?:\d+ )?UE |Hardware error from APEI.{0,80}fatal|mce: \[Hardware Error\]: .{0,40}(?:[Uu]ncorrected|fatal)|Machine [Cc]heck: Processor context corrupt|Kernel panic .{0,30}[Mm]achine check",
        ("edac", "mce:", "machine check", "hardware error"),
        ("EDAC MC1: 1 UE memory read error on CPU_SrcID#0_MC#1_Chan#0_DIMM#0",),
        ("EDAC MC: Ver: 3.0.0", "mce: CPU supports 20 MCE banks"),
        frameworks=("kernel",),
    ),
    Signature(
        "mce-noted",
        "mce",
        r"mce: \[Hardware Error\]: (?!.{0,40}(?:[Uu]ncorrected|fatal))|EDAC .{0,20}: \d+ CE ",
        ("mce:", "edac"),
        (
            "mce: [Hardware Error]: Machine check events logged",
            "EDAC MC0: 1 CE memory scrubbing error on DIMM_A1",
        ),
        (
            "mce: CPU0: Thermal monitoring enabled (TM1)",
            "Intel machine check architecture supported.",
        ),
        severity="warning",
        fatal=False,
        frameworks=("kernel",),
    ),
    Signature(
        "kernel-panic",
        "kernel_panic",
        r"[Kk]ernel panic(?: - not syncing|:)|\brts panic!|general protection fault: [0-9a-f]{4} \[#|BUG: unable to handle (?:kernel|page)|\bOops: [0-9a-fA-F]{4}\b|kernel BUG at ",
        (
            "kernel panic",
            "rts panic",
            "general protection",
            "bug: unable",
            "oops: ",
            "kernel bug at",
        ),
        ("Kernel panic - not syncing: Fatal exception in interrupt",),
        ("panic=10 kernel command line", "Oops: I forgot the config"),
        frameworks=("kernel",),
    ),
)
