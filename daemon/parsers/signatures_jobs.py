"""Signatures of how processes and jobs end: signals, launchers, rendezvous, schedulers, people.

Wordings: shells, torch elastic, mpirun, DeepSpeed, Ray, Slurm, PBS, spot providers.
"""

from __future__ import annotations

from .signature import Signature

JOBS: tuple[Signature, ...] = (
    Signature(
        "killed",
        "process_killed",
        r"^Killed\s*$|: line \d+:\s+\d+ Killed\b|^\[\d+\][+-]?\s+\d*\s*Killed\b|\(exitcode: -9\)|[Ss]ignal 9 \(SIGKILL\)|died with <Signals\.SIGKILL"
        r"|exit(?:ed)?(?: with)?(?: (?:exit )?(?:code|status))?:? (?:137|-9)\b|exit_?code\s?[:=] ?(?:-9|137)\b|KILLED BY SIGNAL: 9\b|\bsignal:? 9\b|[Ss]ignal SIGKILL|[Ee]xit [Cc]ode:?\s+137\b|returned non-zero exit status 137\b|return code = -9\b"
        r"|srun: error: \S+: tasks? [\d,-]+: Killed|exited on signal 9\b|(?<!\) is )killed by (?:signal: Killed|SIGKILL)|zsh: killed\s|^\[\d+\]\s+\d+ killed\s",
        (
            "killed",
            "exitcode",
            "exit_code",
            "signal",
            "exit code",
            "sigkill",
            " code",
            "exit status",
            "exited on signal",
            "return code",
        ),
        (
            "Killed",
            "./train.sh: line 12:  4711 Killed                  python train.py",
            "failed (exitcode: -9) local_rank: 2 (pid: 4711) of binary: /usr/bin/python3",
            "command terminated, exited with code 137",
            "Process finished with exit code 137 (interrupted by signal 9: SIGKILL)",
            "=   KILLED BY SIGNAL: 9 (Killed)",
        ),
        (
            "Killing subprocess 4711",
            "He killed the lights.",
            "Killed 3 stale workers",
            "(exitcode: 1) local_rank: 0",
        ),
    ),
    Signature(
        "segfault",
        "segfault",
        r"\bSegmentation fault\b|\(core dumped\)|\bSIGSEGV\b|\(exitcode: -11\)|\bsegfault at [0-9a-f]+|exited on signal 11\b|exit(?:ed with)?(?: exit)? code:? 139\b|Fatal Python error: (?:Segmentation|Aborted)|^(?:double free or corruption|free\(\): invalid|malloc\(\): |corrupted size vs)|exitcode\s?[:=] ?-11\b",
        (
            "segmentation fault",
            "core dumped",
            "sigsegv",
            "exitcode",
            "double free",
            "free(): invalid",
            "malloc(): ",
            "corrupted size",
            "segfault at",
            "exited on signal",
            " code",
            "fatal python error",
        ),
        (
            "Segmentation fault (core dumped)",
            "train.sh: line 3: 4711 Aborted                 (core dumped) python a.py",
            "python[4711]: segfault at 0 ip 00007f sp 00007f error 4",
        ),
        ("image segmentation faults dataset", "Killed", "model.segfault_rate: 0"),
    ),
    Signature(
        "rank-failed",
        "rank_failed",
        r"failed \(exitcode: (?P<exitcode>-?\d+)\) local_rank: (?P<rank>\d+)|\bexitcode\s+: (?P<code_table>-?[1-9]\d*)|mpirun noticed that process rank (?P<rank_mpi>\d+).{0,80}exited on signal|mpirun detected that one or more processes exited with non-zero"
        r"|srun: error: \S+: tasks? [\d,-]+: Exited with exit code (?P<code_srun>\d+)|exits with return code = (?P<code_ds>-?[1-9]\d*)|Primary job  ?terminated normally, but \d+ process"
        r"|mpirun has exited due to process rank|MPI_ABORT was invoked on rank (?P<rank_abort>\d+)|BAD TERMINATION OF ONE OF YOUR APPLICATION|Process \d+ exit with status code (?P<code_hvd>[1-9]\d*)|Local worker group finished \(FAILED\)|The actor died (?:unexpectedly|because)|worker died or was killed while executing a task",
        (
            "exitcode",
            "mpirun",
            "exited with exit code",
            "exits with return code",
            "primary job",
            "actor died",
            "worker died",
            "mpi_abort",
            "bad termination",
            "exit with status",
            "worker group finished",
        ),
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
        (
            "childfailederror",
            "calledprocesserror",
            "processraisedexception",
            "processexitedexception",
        ),
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
        (
            "server socket",
            "eaddrinuse",
            "address already in use",
            "rendezvous",
            "client socket has",
            "diststoreerror",
            "distnetworkerror",
            "waiting for clients",
            "socket timeout",
            "waiting for key",
            "ms, keys",
        ),
        (
            "[E socket.cpp:858] [c10d] The server socket has failed to listen on any local network address.",
            "torch.distributed.DistNetworkError: The server socket has failed to bind. port: 29500, EADDRINUSE",
            "[c10d] The client socket has timed out after 600s while trying to connect to (node1, 29500).",
        ),
        (
            "sshd[1]: error: Bind to port 22 on 0.0.0.0 failed: Address already in use.",
            "Rendezvous complete for workers.",
        ),
    ),
    Signature(
        "slurm-time-limit",
        "slurm_time_limit",
        r"\bDUE TO TIME LIMIT\b|PBS: job killed: walltime \d+ exceeded limit|\bTERM_RUNLIMIT\b",
        ("due to time limit", "walltime", "term_runlimit"),
        (
            "slurmstepd: error: *** JOB 7 ON node07 CANCELLED AT 2026-01-02T03:04:05 DUE TO TIME LIMIT ***",
        ),
        (
            "#SBATCH --time=12:00:00",
            "slurmstepd: error: *** STEP 7.0 ON node07 CANCELLED AT 2026-01-02T03:04:05 ***",
        ),
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
        (
            "preemption: enabled",
            "WARNING scheduler: Sequence group 0 is preempted by PreemptionMode.RECOMPUTE because there is not enough KV cache",
        ),
    ),
    Signature(
        "slurm-cancelled",
        "slurm_cancelled",
        r"(?:(?:JOB|STEP) \S+ (?:ON \S+ )?|slurm.{0,80})CANCELLED AT (?!.{0,60}DUE TO (?:TIME LIMIT|PREEMPTION))|scancel: .{0,40}signal",
        ("cancelled at", "scancel: "),
        ("slurmstepd: error: *** STEP 7.0 ON node07 CANCELLED AT 2026-01-02T03:04:05 ***",),
        (
            "slurmstepd: error: *** JOB 7 ON node07 CANCELLED AT 2026-01-02T03:04:05 DUE TO TIME LIMIT ***",
        ),
        frameworks=("slurm",),
    ),
    Signature(
        "sigterm",
        "sigterm_received",
        r"(?i:received|got|caught|handling)(?: a| the)?(?: signal)?[: ]{1,2}(?:Signals\.)?SIGTERM\b|(?i:\bSIGTERM (?:was )?(?:received|caught|detected)|(?:received|got|caught) sigterm)|\bexit(?:ed with)? (?:exit )?code:? 143\b|^Hangup\s*$|: line \d+:\s+\d+ Hangup\b|\bsignal 15\b|(?i:received|got|caught) signal:? 15\b|got signal: (?:15|1)\b|Received (?:15|Signals\.SIG(?:TERM|HUP)|1) death signal"
        r"|^Terminated\s*$|: line \d+:\s+\d+ Terminated\b|Received SIGTERM: 15",
        ("sigterm", "signal", "terminated", "hangup", "exit code", "exited with"),
        (
            "Main process received SIGTERM, exiting",
            "[rank: 0] Received SIGTERM: 15",
            "Received Signals.SIGHUP death signal, shutting down workers",
        ),
        (
            "Sending process 4711 closing signal SIGTERM",
            "Bypassing SIGTERM: 15",
            "signal handler for SIGTERM installed",
        ),
        role="cascade",
    ),
    Signature(
        "interrupted",
        "interrupted",
        r"^\s*KeyboardInterrupt\s*$|Detected KeyboardInterrupt|^\^C|^KeyboardInterrupt: |(?i:interrupted by (?:the )?user|keyboard ?interrupt (?:received|detected|caught)|exiting from training early|ctrl\W?c (?:pressed|received|caught))|\bSIGINT (?:was )?(?:received|caught)|[Rr]eceived SIGINT\b|Received Signals\.SIGINT death signal|got signal: 2\b",
        (
            "keyboardinterrupt",
            "keyboard interrupt",
            "^c",
            "ctrl",
            "interrupted by",
            "sigint",
            "got signal",
            "training early",
        ),
        (
            "KeyboardInterrupt",
            "UserWarning: Detected KeyboardInterrupt, attempting graceful shutdown...",
        ),
        ("except KeyboardInterrupt:", "(Press CTRL+C to quit)"),
        severity="warning",
    ),
)
