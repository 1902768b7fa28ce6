"""Signatures of the box: memory, disks, the kernel, signals, schedulers, launchers.

Wordings: Linux kernel, shells, Slurm, PBS, Kubernetes, torch elastic, mpirun, DeepSpeed.
"""

from __future__ import annotations

from .signature import Signature

BOX: tuple[Signature, ...] = (
    Signature(
        "kernel-oom",
        "host_oom_kill",
        r"(?<!cgroup )[Oo]ut of memory: Kill(?:ed)? process (?P<pid>\d+) \((?P<name>[^)]*)\)|oom-kill:constraint=CONSTRAINT_(?:NONE|CPUSET|MEMORY_POLICY)"
        r"|(?<!memory: )\bKilled process \d+ \([^)]*\),? (?:UID|total-vm)|killed by the OOM killer|systemd-oomd.{0,20} [Kk]illed ",
        ("out of memory: kill", "oom-kill:constraint", "killed process", "oom killer", "systemd-oomd"),
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
        "killed",
        "process_killed",
        r"^Killed\s*$|: line \d+:\s+\d+ Killed\b|^\[\d+\][+-]?\s+\d*\s*Killed\b|\(exitcode: -9\)|[Ss]ignal 9 \(SIGKILL\)|died with <Signals\.SIGKILL"
        r"|exit(?:ed)?(?: with)?(?: (?:exit )?(?:code|status))?:? (?:137|-9)\b|exit_?code\s?[:=] ?(?:-9|137)\b|KILLED BY SIGNAL: 9\b|\bsignal:? 9\b|[Ss]ignal SIGKILL|[Ee]xit [Cc]ode:?\s+137\b|returned non-zero exit status 137\b|return code = -9\b"
        r"|srun: error: \S+: tasks? [\d,-]+: Killed|exited on signal 9\b|(?<!\) is )killed by (?:signal: Killed|SIGKILL)|zsh: killed\s|^\[\d+\]\s+\d+ killed\s",
        ("killed", "exitcode", "exit_code", "signal", "exit code", "sigkill", " code", "exit status", "exited on signal", "return code"),
        (
            "Killed",
            "./train.sh: line 12:  4711 Killed                  python train.py",
            "failed (exitcode: -9) local_rank: 2 (pid: 4711) of binary: /usr/bin/python3",
            "command terminated, exited with code 137",
            "Process finished with exit code 137 (interrupted by signal 9: SIGKILL)",
            "=   KILLED BY SIGNAL: 9 (Killed)",
        ),
        ("Killing subprocess 4711", "He killed the lights.", "Killed 3 stale workers", "(exitcode: 1) local_rank: 0"),
    ),
    Signature(
        "dataloader-worker",
        "dataloader_worker_killed",
        r"DataLoader worker \(pid(?:\(s\))? [\d, ]+\) (?:is killed by signal: (?P<signal_name>[\w ]+)|exited unexpectedly)",
        ("dataloader worker",),
        ("RuntimeError: DataLoader worker (pid 4711) is killed by signal: Killed. ", "RuntimeError: DataLoader worker (pid(s) 12, 13) exited unexpectedly"),
        ("This DataLoader will create 16 worker processes in total.",),
        frameworks=("pytorch",),
    ),
    Signature(
        "shm",
        "shm_exhausted",
        r"killed by signal: Bus error|[Uu]nexpected bus error encountered in worker|insufficient shared memory \(shm\)"
        r"|unable to (?:write to file|mmap \d+ bytes from file|open shared memory object|resize|allocate shared memory).{0,20}(?:</?torch_|shared memory|\(shm\))"
        r"|^Bus error\b|: line \d+:\s+\d+ Bus error|Fatal Python error: Bus error|\(exitcode: -7\)|(?i:error while creating shared memory segment)|/dev/shm.{0,60}No space left|No space left on device.{0,20}/dev/shm",
        ("bus error", "insufficient shared", "unable to", "exitcode: -", "shared memory segment", "/dev/shm"),
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
        ("no space left", "[errno", "enospc", "space on the disk", "disk full", "disk is full", "disk space"),
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
        ("OSError: [Errno 24] Too many open files: '/data/x'", "RuntimeError: received 0 items of ancdata"),
        ("ulimit: open files 1048576", "FileNotFoundError: [Errno 2] No such file or directory: 'a'"),
    ),
    Signature(
        "io-error",
        "io_error",
        r"\[Errno (?:5|30|107|116|121)\]|(?<![Bb]uffer )\bInput/output error|Stale (?:NFS )?file handle|Transport endpoint is not connected|Read-only file system",
        ("[errno", "input/output error", "stale", "transport endpoint", "read-only file system"),
        ("OSError: [Errno 5] Input/output error", "OSError: [Errno 116] Stale file handle: '/mnt/nfs/a.bin'"),
        ("mounted read-only file-system image cache", "OSError: [Errno 17] File exists: 'out'"),
    ),
    Signature(
        "disk-error",
        "disk_error",
        r"(?:blk_update_request|print_req_error): .{0,40}error|\bI/O error, dev \w+|\bMedium Error\b|Unrecovered read error|FAILED Result: hostbyte|Buffer I/O error on dev|nvme nvme\d+: .{0,60}(?:timeout|controller is down|Removing after probe|resetting controller)"
        r"|ata\d+(?:\.\d+)?: (?:failed command|exception Emask)|critical (?:medium|target) error",
        ("i/o error", "blk_update_request", "print_req_error", "nvme nvme", "failed command", "exception emask", "critical medium", "critical target", "medium error", "unrecovered read", "failed result"),
        ("blk_update_request: I/O error, dev sdb, sector 12345 op 0x0", "nvme nvme0: I/O 12 QID 3 timeout, aborting"),
        ("nvme nvme0: 32/0/0 default/read/poll queues", "ata1: SATA link up 6.0 Gbps"),
        frameworks=("kernel",),
    ),
    Signature(
        "fs-error",
        "fs_error",
        r"EXT4-fs error|EXT4-fs \(\w+\): .{0,40}(?:aborting|Remounting)|XFS \([\w-]+\): (?:[Cc]orruption|[Mm]etadata (?:I/O error|corruption)|log I/O error)|Remounting filesystem read-only"
        r"|BTRFS (?:error|critical)|JBD2: .{0,60}[Ee]rror|nfs: server \S+ not responding|[Ss]hutting down filesystem|LustreError: |\[Errno 117\]",
        ("lustreerror", "down filesystem", "[errno", "xfs (", "remounting filesystem", "btrfs", "jbd", "not responding", "-fs error", "-fs ("),
        ("EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2: comm python", "nfs: server filer not responding, still trying"),
        ("EXT4-fs (sda1): mounted filesystem with ordered data mode", "BTRFS info (device sdb): disk space caching is enabled"),
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
        ("mce: [Hardware Error]: Machine check events logged", "EDAC MC0: 1 CE memory scrubbing error on DIMM_A1"),
        ("mce: CPU0: Thermal monitoring enabled (TM1)", "Intel machine check architecture supported."),
        severity="warning",
        fatal=False,
        frameworks=("kernel",),
    ),
    Signature(
        "kernel-panic",
        "kernel_panic",
        r"[Kk]ernel panic(?: - not syncing|:)|\brts panic!|general protection fault: [0-9a-f]{4} \[#|BUG: unable to handle (?:kernel|page)|\bOops: [0-9a-fA-F]{4}\b|kernel BUG at ",
        ("kernel panic", "rts panic", "general protection", "bug: unable", "oops: ", "kernel bug at"),
        ("Kernel panic - not syncing: Fatal exception in interrupt",),
        ("panic=10 kernel command line", "Oops: I forgot the config"),
        frameworks=("kernel",),
    ),
    Signature(
        "segfault",
        "segfault",
        r"\bSegmentation fault\b|\(core dumped\)|\bSIGSEGV\b|\(exitcode: -11\)|\bsegfault at [0-9a-f]+|exited on signal 11\b|exit(?:ed with)?(?: exit)? code:? 139\b|Fatal Python error: (?:Segmentation|Aborted)|^(?:double free or corruption|free\(\): invalid|malloc\(\): |corrupted size vs)|exitcode\s?[:=] ?-11\b",
        ("segmentation fault", "core dumped", "sigsegv", "exitcode", "double free", "free(): invalid", "malloc(): ", "corrupted size", "segfault at", "exited on signal", " code", "fatal python error"),
        ("Segmentation fault (core dumped)", "train.sh: line 3: 4711 Aborted                 (core dumped) python a.py", "python[4711]: segfault at 0 ip 00007f sp 00007f error 4"),
        ("image segmentation faults dataset", "Killed", "model.segfault_rate: 0"),
    ),
    Signature(
        "rank-failed",
        "rank_failed",
        r"failed \(exitcode: (?P<exitcode>-?\d+)\) local_rank: (?P<rank>\d+)|\bexitcode\s+: (?P<code_table>-?[1-9]\d*)|mpirun noticed that process rank (?P<rank_mpi>\d+).{0,80}exited on signal|mpirun detected that one or more processes exited with non-zero"
        r"|srun: error: \S+: tasks? [\d,-]+: Exited with exit code (?P<code_srun>\d+)|exits with return code = (?P<code_ds>-?[1-9]\d*)|Primary job  ?terminated normally, but \d+ process"
        r"|mpirun has exited due to process rank|MPI_ABORT was invoked on rank (?P<rank_abort>\d+)|BAD TERMINATION OF ONE OF YOUR APPLICATION|Process \d+ exit with status code (?P<code_hvd>[1-9]\d*)|Local worker group finished \(FAILED\)|The actor died (?:unexpectedly|because)|worker died or was killed while executing a task",
        ("exitcode", "mpirun", "exited with exit code", "exits with return code", "primary job", "actor died", "worker died", "mpi_abort", "bad termination", "exit with status", "worker group finished"),
        (
            "failed (exitcode: 1) local_rank: 3 (pid: 4711) of binary: /usr/bin/python3",
            "srun: error: node07: task 3: Exited with exit code 1",
            "MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD",
            "[launch.py:321:sigkill_handler] ['python', 'a.py'] exits with return code = 1",
        ),
        ("local_rank: 3", "Process 4711 exits successfully.", "exits with return code = 0"),
        role="cascade",
    ),
    Signature(
        "rank-summary",
        "rank_failed",
        r"ChildFailedError|CalledProcessError: Command .{0,600}(?:returned non-zero exit status (?P<exitcode>\d+)|died with <Signals\.(?P<signal_name>\w+))|ProcessRaisedException|ProcessExitedException",
        ("childfailederror", "calledprocesserror", "processraisedexception", "processexitedexception"),
        (
            "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
            "subprocess.CalledProcessError: Command '['python', 'a.py']' returned non-zero exit status 1.",
        ),
        ("import CalledProcessErrors",),
        role="cascade",
    ),
    Signature(
        "rendezvous",
        "rendezvous_failed",
        r"[Tt]he server socket has failed to listen|server socket on \S+ has timed out|(?:c10d|TCPStore|DistNetworkError|RuntimeError|torch|OSError|ray).{0,120}(?:EADDRINUSE|[Aa]ddress already in use)"
        r"|Rendezvous(?:Timeout|Connection|Closed|GracefulExit)Error|client socket has (?:timed out after|failed to connect to)|Dist(?:Store|Network)Error|Timed out after \d+ seconds waiting for clients|RuntimeError: Socket Timeout|[Tt]imeout waiting for key: |wait timeout after \d+ms, keys|\(errno: 98 - Address already in use\)\. *$",
        ("server socket", "eaddrinuse", "address already in use", "rendezvous", "client socket has", "diststoreerror", "distnetworkerror", "waiting for clients", "socket timeout", "waiting for key", "ms, keys"),
        (
            "[E socket.cpp:858] [c10d] The server socket has failed to listen on any local network address.",
            "torch.distributed.DistNetworkError: The server socket has failed to bind. port: 29500, EADDRINUSE",
            "[c10d] The client socket has timed out after 600s while trying to connect to (node1, 29500).",
        ),
        ("sshd[1]: error: Bind to port 22 on 0.0.0.0 failed: Address already in use.", "Rendezvous complete for workers."),
    ),
    Signature(
        "slurm-time-limit",
        "slurm_time_limit",
        r"\bDUE TO TIME LIMIT\b|PBS: job killed: walltime \d+ exceeded limit|\bTERM_RUNLIMIT\b",
        ("due to time limit", "walltime", "term_runlimit"),
        ("slurmstepd: error: *** JOB 7 ON node07 CANCELLED AT 2026-01-02T03:04:05 DUE TO TIME LIMIT ***",),
        ("#SBATCH --time=12:00:00", "slurmstepd: error: *** STEP 7.0 ON node07 CANCELLED AT 2026-01-02T03:04:05 ***"),
    ),
    Signature(
        "preempted",
        "preempted",
        r"CANCELLED AT .{0,60} ?DUE TO PREEMPTION|(?i:\bjob (?:\S+ )?(?:was |is |has been |got )?preempted\b)|(?i:received (?:a )?preemption (?:signal|notice))|(?i:(?:spot|instance|node|vm|pod)\b.{0,40}(?:preempted|preemption notice|interruption notice|will be reclaimed|interrupted by the provider))",
        ("preempt", "interruption notice", "reclaimed", "interrupted by the provider"),
        (
            "slurmstepd: error: *** JOB 7 ON node07 CANCELLED AT 2026-01-02T03:04:05 DUE TO PREEMPTION ***",
            "Caught signal SIGUSR2: this job is preempted.",
            "spot instance interruption notice received, stopping in 120 s",
        ),
        ("preemption: enabled", "WARNING scheduler: Sequence group 0 is preempted by PreemptionMode.RECOMPUTE because there is not enough KV cache"),
    ),
    Signature(
        "slurm-cancelled",
        "slurm_cancelled",
        r"(?:(?:JOB|STEP) \S+ (?:ON \S+ )?|slurm.{0,80})CANCELLED AT (?!.{0,60}DUE TO (?:TIME LIMIT|PREEMPTION))|scancel: .{0,40}signal",
        ("cancelled at", "scancel: "),
        ("slurmstepd: error: *** STEP 7.0 ON node07 CANCELLED AT 2026-01-02T03:04:05 ***",),
        ("slurmstepd: error: *** JOB 7 ON node07 CANCELLED AT 2026-01-02T03:04:05 DUE TO TIME LIMIT ***",),
        frameworks=("slurm",),
    ),
    Signature(
        "sigterm",
        "sigterm_received",
        r"(?i:received|got|caught|handling)(?: a| the)?(?: signal)?[: ]{1,2}(?:Signals\.)?SIGTERM\b|(?i:\bSIGTERM (?:was )?(?:received|caught|detected)|(?:received|got|caught) sigterm)|\bexit(?:ed with)? (?:exit )?code:? 143\b|^Hangup\s*$|: line \d+:\s+\d+ Hangup\b|\bsignal 15\b|(?i:received|got|caught) signal:? 15\b|got signal: (?:15|1)\b|Received (?:15|Signals\.SIG(?:TERM|HUP)|1) death signal"
        r"|^Terminated\s*$|: line \d+:\s+\d+ Terminated\b|Received SIGTERM: 15",
        ("sigterm", "signal", "terminated", "hangup", "exit code", "exited with"),
        ("Main process received SIGTERM, exiting", "[rank: 0] Received SIGTERM: 15", "Received Signals.SIGHUP death signal, shutting down workers"),
        ("Sending process 4711 closing signal SIGTERM", "Bypassing SIGTERM: 15", "signal handler for SIGTERM installed"),
        role="cascade",
    ),
    Signature(
        "interrupted",
        "interrupted",
        r"^\s*KeyboardInterrupt\s*$|Detected KeyboardInterrupt|^\^C|^KeyboardInterrupt: |(?i:interrupted by (?:the )?user|keyboard ?interrupt (?:received|detected|caught)|exiting from training early|ctrl\W?c (?:pressed|received|caught))|\bSIGINT (?:was )?(?:received|caught)|[Rr]eceived SIGINT\b|Received Signals\.SIGINT death signal|got signal: 2\b",
        ("keyboardinterrupt", "keyboard interrupt", "^c", "ctrl", "interrupted by", "sigint", "got signal", "training early"),
        ("KeyboardInterrupt", "UserWarning: Detected KeyboardInterrupt, attempting graceful shutdown..."),
        ("except KeyboardInterrupt:", "(Press CTRL+C to quit)"),
        severity="warning",
    ),
)
