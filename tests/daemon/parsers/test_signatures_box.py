"""Troubles of the box and of jobs in words other than the signatures' own examples."""

from __future__ import annotations

import pytest

from middlewatch.daemon.parsers.reader import LogReader
from middlewatch.daemon.parsers.xids import HARMLESS, XIDS, meaning
from middlewatch.sentinels.kit import LogEvent

TROUBLES = [
    # kernel log, with what journals write before it
    (
        "host_oom_kill",
        "May 19 19:57:01 gpu07 kernel: [812.4] Out of memory: Killed process 4711 (pt_main_thread) total-vm:1kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:1kB oom_score_adj:0",
    ),
    (
        "host_oom_kill",
        "[Tue May 19 19:57:01 2026] oom-kill:constraint=CONSTRAINT_CPUSET,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,task_memcg=/user.slice,task=python,pid=1,uid=0",
    ),
    (
        "cgroup_oom_kill",
        "[812.4] Memory cgroup out of memory: Killed process 9 (ray::IDLE) total-vm:1kB",
    ),
    (
        "cgroup_oom_kill",
        "slurmstepd-gpu07: error: Detected 3 oom_kill events in StepId=7.0. Some of the step tasks have been OOM Killed.",
    ),
    ("cgroup_oom_kill", "    Last State:     Terminated (Reason: OOMKilled)"),
    ("disk_error", "nvme nvme2: Removing after probe failure status: -19"),
    ("disk_error", "kernel: blk_update_request: critical medium error, dev sdc, sector 1"),
    ("disk_error", "sd 0:0:0:0: [sdb] tag#3 Sense Key : Hardware Error [current]"),
    ("disk_error", "ata3: SError: { PHYRdyChg CommWake }"),
    ("disk_error", "md/raid:md5: Disk failure on nvme1n1, disabling device."),
    ("fs_error", "kernel: EXT4-fs (dm-17): Remounting filesystem read-only"),
    (
        "fs_error",
        "EXT4-fs error (device sda9): ext4_lookup:1580: inode #9: comm python: deleted inode referenced: 1",
    ),
    (
        "fs_error",
        "XFS (nvme0n1p1): log I/O error -5",
    ),
    ("fs_error", "OSError: [Errno 30] Read-only file system: 'out/checkpoint-150'"),
    ("fs_error", "tee: train.log: Read-only file system"),
    ("fs_error", "Error: EROFS: read-only file system, open '/data/a'"),
    ("io_error", "OSError: [Errno 5] Input/output error: 'shard_3.bin'"),
    ("fs_error", "XFS (md0): Metadata corruption detected at xfs_agi_verify+0x1"),
    (
        "fs_error",
        "BTRFS error (device nvme0n1): parent transid verify failed on 1 wanted 2 found 3",
    ),
    ("fs_error", "Lustre: 11:0:(client.c:1) @@@ Request sent has timed out: LustreError: 1:0:(x)"),
    ("fs_error", "CIFS: VFS: \\\\10.0.0.7\\data Error -512 sending data on socket to server"),
    ("mce", "[Hardware Error]: Corrected error, no action required."),
    ("mce", "EDAC MC0: 4 CE on DIMM_B2 (channel:1 page:0x0 offset:0x0 grain:1)"),
    (
        "mce",
        "mce: [Hardware Error]: CPU 12: Machine Check: 0 Bank 7: b200000000070005",
    ),
    ("kernel_panic", "kernel: BUG: unable to handle page fault for address: ffff888100000000"),
    ("kernel_panic", "Oops: 0000 [#1] PREEMPT SMP NOPTI"),
    ("kernel_panic", "watchdog: BUG: soft lockup - CPU#61 stuck for 26s! [python3:99]"),
    # cards
    ("xid", "kernel: NVRM: Xid (PCI:0000:dc:00): 45, pid=9, name=python3, Ch 00000001"),
    ("xid", "NVRM: Xid (PCI:0000:3b:00): 119, pid=9, Timeout after 6s of waiting for RPC response"),
    (
        "nvswitch",
        "kernel: [1.5] nvidia-nvswitch2: SXid (PCI:0000:0b:00.0): 22013, Fatal, Link 9 Minion",
    ),
    ("gpu_lost", "NVRM: GPU 0000:c1:00.0: RmInitAdapter failed! (0x24:0x65:1428)"),
    # storage as a program sees it
    (
        "disk_full",
        "RuntimeError: [enforce fail at x.cc:1] . open file failed: No space left on device",
    ),
    ("disk_full", "fatal: write error: no space left on device"),
    ("disk_full", "HDF5: file write failed: errno = 28, error message = 'No space left on device'"),
    ("disk_full", "zstd: error 70 : Write error : 设备上没有空间"),
    ("inode_exhausted", "mkdir: cannot create directory 'x': no free inodes on the file system"),
    ("inode_exhausted", "OSError: could not create cache file: ran out of inodes"),
    ("quota_exceeded", "torch.save failed: [Errno 122] Disk quota exceeded"),
    ("fd_exhausted", "socket.accept() out of system resource: Too many open files"),
    ("fd_exhausted", "curl: (26) open: EMFILE"),
    ("io_error", "tar: data.tar: Cannot read: Input/output error"),
    ("io_error", "cp: failed to close 'x': Stale NFS file handle"),
    ("io_error", "OSError: [Errno 107] Transport endpoint is not connected: '/mnt/s3/a'"),
    (
        "shm_exhausted",
        "RuntimeError: unable to allocate shared memory(shm) for file </torch_9_9>: Success (0)",
    ),
    ("shm_exhausted", "run.sh: line 7: 812 Bus error               python train.py"),
    # ends of processes
    (
        "process_killed",
        "launch.sh: 行 12: 30812 已杀死               torchrun --nproc_per_node 8 train.py",
    ),
    ("process_killed", "launch.sh : ligne 3 : 30812 Processus arrêté      python3 train.py"),
    ("process_killed", "Epoch 3:  12%|#2        | 12/100 [00:12<01:28, 1.00s/it]Killed"),
    ("process_killed", "WARN exited: train (terminated by SIGKILL; not expected) signal: killed"),
    ("process_killed", "container exited with status 137"),
    ("process_killed", "ERROR: Job failed: exit code 137"),
    ("process_killed", "worker 3 exited with code -9"),
    ("segfault", "./run.sh: line 8: 4711 Segmentation fault      python train.py"),
    ("segfault", "Process finished with exit code 139 (interrupted by signal 11: SIGSEGV)"),
    ("segfault", "*** Error in `python': double free or corruption (!prev): 0x1 ***"),
    ("segfault", "!!!!!!! Segfault encountered !!!!!!! Segmentation fault"),
    ("sigterm_received", "[signal_handler] got SIGTERM, will save and exit"),
    ("sigterm_received", "Received SIGTERM (15). Exiting gracefully."),
    ("interrupted", "Interrupted by user, saving model_interrupted.pt"),
    ("interrupted", "[rank0]: KeyboardInterrupt"),
    # launchers
    (
        "rank_failed",
        "E1120 12:00:00.123000 4711 torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: 1) local_rank: 0 (pid: 9) of binary: /usr/bin/python",
    ),
    (
        "rank_failed",
        "mpiexec noticed that process rank 5 with PID 0 on node n5 exited on signal 6 (Aborted).",
    ),
    (
        "rendezvous_failed",
        "RuntimeError: The server socket has failed to listen on any local network address. port: 29500, EADDRINUSE",
    ),
    # ends decided elsewhere
    (
        "slurm_time_limit",
        "slurmstepd-gpu07: error: *** STEP 7.0 ON gpu07 CANCELLED AT 2026-01-02T03:04:05 DUE TO TIME LIMIT ***",
    ),
    ("slurm_time_limit", "=>> PBS: job killed: walltime 7213 exceeded limit 7200"),
    ("slurm_cancelled", "slurmstepd: error: *** JOB 9 ON a CANCELLED AT 2026-01-02T03:04:05 ***"),
    ("preempted", "WARNING: this spot node was preempted, 30 s left"),
    ("preempted", "job 812 has been preempted by job 813"),
    # start and network
    ("launch_error", "main.py: error: the following arguments are required: --data"),
    ("launch_error", "./job.sh: line 4: torchrun: command not found"),
    ("launch_error", "Error: Got unexpected extra argument (x)"),
    (
        "network_error",
        "requests.exceptions.SSLError: HTTPSConnectionPool(host='hub.example', port=443): x",
    ),
    ("network_error", "httpx.ConnectTimeout: timed out"),
    (
        "network_error",
        "fatal: unable to access 'https://git.example/x.git/': The requested URL returned error: 503",
    ),
]

HEALTHY = [
    "Killing subprocess 4711",
    "kill -9 is never needed here",
    "Killed 12 zombie workers of the last run",
    "enemies killed: 137",
    "reward 137, exit 9",
    "exit probability 0.137",
    "exit code 0",
    "signal to noise ratio: 9",
    "signal 9.5 dB",
    "train_signal: 15",
    "loss_out_of_memory_bank: 0.1",
    "memory bank: out of 65536 entries",
    "disk: 812 of 1000 GB used",
    "inodes: 12% used",
    "dataset has 0 quota violations",
    "image segmentation: 12 faults labelled",
    "using 8 file handles",
    "max open files: 65536",
    "preemption is on",
    "cluster was created",
    "received 15 samples",
    "received signal strength: 15",
    "Press Ctrl-C to stop",
    "Terminating early stopping after 12 epochs",
    "episode terminated: True",
    "Address already in use is handled by another port",
    "The server listens on port 29500",
    "EXT4-fs (sda1): mounted filesystem with ordered data mode. Quota mode: none.",
    "EXT4-fs (nvme0n1p5): re-mounted. Opts: errors=remount-ro.",
    "XFS (sdb1): Mounting V5 Filesystem",
    "mce: [Hardware Error] reporting is on",
    "EDAC MC0: Giving out device to module skx_edac controller Skylake Socket#0 IMC#0",
    "nvme nvme0: pci function 0000:01:00.0",
    "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15",
    "nvidia-nvswitch0: open (major=510)",
    "srun: job 7 queued and waiting for resources",
    "srun: jobid 7: nodes(1): `gpu07', cpu counts: 8(x1)",
    "State: COMPLETED (exit code 0)",
    "time limit: 12:00:00",
    "requests: 12, timeouts: 0",
    "Downloading https://hub.example/error/137",
    "Read-only mode: on",
    "rendezvous complete for workers",
    "Non-fatal errors: 0",
    "the actor died out of the scene",
]


def loud(line: str) -> list[LogEvent]:
    reader = LogReader("train.log")
    said = reader.feed((line + "\n").encode(), 1.0) + reader.finish(1.0)
    return [e for e in said if isinstance(e, LogEvent) and e.severity != "info"]


@pytest.mark.parametrize(("trouble", "line"), TROUBLES)
def test_is_heard(trouble: str, line: str) -> None:
    assert trouble in {e.trouble for e in loud(line)}


@pytest.mark.parametrize("line", HEALTHY)
def test_is_no_trouble(line: str) -> None:
    assert loud(line) == []


@pytest.mark.parametrize(
    ("line", "fatal"),
    [
        ("NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.", True),
        ("NVRM: Xid (PCI:0000:3b:00): 63, Row Remapper: New row marked for remapping", False),
        ("nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 20009, Non-fatal, Link 28", False),
        ("nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 20034, Fatal, Link 28", True),
        ("EDAC MC1: 1 UE memory read error on CPU_SrcID#0_MC#1_Chan#0_DIMM#0", True),
        ("EDAC MC1: 1 CE memory read error on CPU_SrcID#0_MC#1_Chan#0_DIMM#0", False),
        ("nfs: server filer not responding, still trying", False),
    ],
)
def test_what_ends_a_run_and_what_does_not(line: str, fatal: bool) -> None:
    assert any(e.fatal for e in loud(line)) is fatal
    assert loud(line)


def test_the_outer_library_speaks_for_the_inner_one() -> None:
    inner, outer = (
        loud(line)[0]
        for line in (
            "urllib3.exceptions.ProtocolError: ('Connection broken', None)",
            "requests.exceptions.ChunkedEncodingError: ('Connection broken', None)",
        )
    )
    assert (inner.role, outer.role) == ("cascade", "root")


def test_codes_of_cards() -> None:
    assert {31, 48, 63, 74, 79, 94, 95, 119} <= set(XIDS)
    assert 63 in HARMLESS
    assert 79 not in HARMLESS
    assert XIDS[31].program
    assert meaning(79) == "the GPU has fallen off the bus"
    assert meaning(9999) == ""
