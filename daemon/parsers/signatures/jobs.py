"""Signatures of how processes end: killed, told to stop, interrupted by a person.

Wordings: shells and libc in several languages, systemd, docker, torch elastic, MPI, Go,
Rust, Lightning, submitit, MLX.
"""

from __future__ import annotations

from .ends import BARE, BEHIND, EXIT, EXIT_ATOMS, LINE, STATUS_ENDS, SYSTEMD_ATOMS
from .form import Signature

_SIGNAL_ATOMS = (
    "signal: ",
    "(signal",
    "signal sig",
    *(
        f"{word} signal"
        for word in ("by", "on", "with", "from", "got", "caught", "received", "exit", "to", "death")
    ),
)
_KILLED = r"(?:Killed|已杀死|已殺死|已砍掉|Getötet|Processus arrêté|Terminado \(killed\)|強制終了|Убито|Ucciso|Matado|Morto|죽었음)"
_KILLED_ATOMS = (
    "killed",
    "已杀死",
    "已殺死",
    "已砍掉",
    "getötet",
    "processus arrêté",
    "強制終了",
    "убито",
    "ucciso",
    "matado",
    "morto",
    "죽었음",
)


JOBS: tuple[Signature, ...] = (
    Signature(
        "killed-word",
        "process_killed",
        rf"{BARE}{_KILLED}[.!]?\s*$|{LINE}{_KILLED}(?::? ?9)?(?:\s|$)|^\[\d+\][+-]?\s+(?:\d+\s+)?{_KILLED}(?:\s|$)|^\[\d+\]\s+[+-]?\s*\d+ killed\s|\bzsh: killed\s|{BARE}Killed: 9\s*$|: Killed: 9\b|^\S+: killed\s*$"
        r"|srun: error: \S+: tasks? [\d,-]+: Killed",
        _KILLED_ATOMS,
        (
            "Killed",
            "Killed: 9",
            "./train.sh: line 12:  4711 Killed                  python train.py",
            "./run.sh：行 2:  4711 已杀死               python train.py",
            "./run.sh: Zeile 2:  4711 Getötet                 python3 train.py",
            "已杀死",
            "Processus arrêté",
            "Terminado (killed)",
            "100%|##########| 837/837 [07:11<00:00, 1.94it/s]Killed",
            "2026-01-02T03:04:05.678Z Killed",
            "[1]+  Killed                  nohup python train.py",
            "[1]  + 4711 killed     python train.py",
            "train.sh: line 3:  4711 Killed: 9               python train.py",
            "zsh: killed     python train.py",
            "srun: error: node07: task 3: Killed",
        ),
        (
            "He killed the lights.",
            "Killed 3 stale workers",
            "Enemies: 3 Killed",
            "RuntimeError: DataLoader worker (pid 9) is killed by signal: Killed. ",
            "Killing subprocess 4711",
        ),
        source="glibc strsignal and its translations, bash, zsh, slurm",
    ),
    Signature(
        "killed-status",
        "process_killed",
        rf"{EXIT}(?:137|-9){STATUS_ENDS}|\breturned non-zero exit status (?:137|-9)\b|\breturn(?:ed)?(?: ?code)?\s?[=:]? ?-9\b|\bdied with <Signals\.SIGKILL|\bstatus=9/KILL|(?<!nding )(?<!end )(?i:\bsignal:? (?:9\b|SIGKILL\b|killed\b(?! by)))(?!\.)|\bSIGKILL\) received by|KILLED BY SIGNAL: 9\b"
        r"|(?<!\) is )\bkilled by (?:SIGKILL|signal 9)|\bSIGKILL: kill\b|\bexit signal Killed\b|interrupted by signal 9|in the process pool was terminated abruptly|managed by the executor was unexpectedly terminated",
        (
            *EXIT_ATOMS,
            *_SIGNAL_ATOMS,
            *SYSTEMD_ATOMS,
            "sigkill",
            "return code",
            "returncode",
            "terminated abruptly",
            "unexpectedly terminated",
        ),
        (
            "failed (exitcode: -9) local_rank: 2 (pid: 4711) of binary: /usr/bin/python3",
            "  exitcode  : -9 (pid: 4711)",
            "  traceback : Signal 9 (SIGKILL) received by PID 4711",
            "command terminated, exited with code 137",
            "Process finished with exit code 137 (interrupted by signal 9: SIGKILL)",
            "BrokenProcessPool: A process in the process pool was terminated abruptly while the future was running or pending.",
            "=   KILLED BY SIGNAL: 9 (Killed)",
            "Exited (137) 2 minutes ago",
            "Exit Code:    137",
            "trainer.service: Main process exited, code=killed, status=9/KILL",
            "exit status: signal: killed",
            "mpirun noticed that process rank 3 with PID 0 on node a exited on signal 9 (Killed).",
            "process didn't exit successfully: `target/release/train` (signal: 9, SIGKILL: kill)",
            "subprocess.CalledProcessError: Command '['python', 'a.py']' died with <Signals.SIGKILL: 9>.",
            "torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated with signal SIGKILL",
            "[NID 00012] PE RANK 3 exit signal Killed",
        ),
        (
            "(exitcode: 1) local_rank: 0",
            "exited with code 0",
            "forcefully exiting via Signals.SIGKILL",
            "Sending signal 9 to process 4711",
            "exit code 1379",
        ),
        source="torch elastic, mpirun, docker, systemd, kubernetes, Go os/exec, cargo, cpython subprocess, Cray ALPS",
    ),
    Signature(
        "sigterm",
        "sigterm_received",
        r"(?i:\bafter receiving (?:a |signal )?SIG(?:TERM|HUP)\b|\b(?:received|got|caught|captured|handling)(?: a| the)?(?: termination)?(?: signal)?[: ]{1,2}(?:Signals\.)?SIG(?:TERM|HUP)\b|\bSIGTERM (?:was |signal )?(?:received|caught|detected)|(?:received|got|caught) signal:? 15\b)|\bgot signal: (?:15|1)\b|Received (?:15|Signals\.SIG(?:TERM|HUP)|1) death signal"
        rf"|{EXIT}143{STATUS_ENDS}|\bstatus=15/TERM|\bexited on signal 15\b|(?<!nding )(?<!end )\bsignal:? (?:15\b|terminated\b)(?!\.)|\bdied with <Signals\.SIGTERM|\bTerminated by signal 15\b|KILLED BY SIGNAL: 15\b",
        (
            "sigterm",
            "sighup",
            *_SIGNAL_ATOMS,
            *SYSTEMD_ATOMS,
            *EXIT_ATOMS,
        ),
        (
            "Main process received SIGTERM, exiting",
            "[rank: 0] Received SIGTERM: 15",
            "Received Signals.SIGHUP death signal, shutting down workers",
            "torch.distributed.elastic.multiprocessing.api.SignalException: Process 4711 got signal: 15",
            "INFO: SIGTERM received, saving a checkpoint",
            "Received signal 15, stopping",
            "exiting program after receiving SIGTERM.",
            "command terminated with exit code 143",
            "trainer.service: Main process exited, code=killed, status=15/TERM",
        ),
        (
            "Sending process 4711 closing signal SIGTERM",
            "Bypassing SIGTERM: 15",
            "signal handler for SIGTERM installed",
            "Sending signal 15 to process 4711",
            "Registered signal handlers for [TERM, HUP, INT]",
        ),
        role="cascade",
        source="torch elastic, Lightning, systemd, docker, megatron dist_signal_handler",
    ),
    Signature(
        "terminated-word",
        "sigterm_received",
        rf"{BEHIND}(?:Terminated|已终止|已終止|Hangup)\s*$|{LINE}(?:Terminated|已终止|Beendet|Hangup)(?:\s|$)|^\[\d+\][+-]?\s+(?:\d+\s+)?(?:Terminated|Terminado|已终止|Beendet|Hangup)\s{{2,}}\S|\bzsh: (?:terminated|hangup)\s|srun: error: \S+: tasks? [\d,-]+: Terminated",
        (
            "terminated",
            "terminado",
            "已终止",
            "已終止",
            "beendet",
            "hangup",
        ),
        (
            "Terminated",
            "./train.sh: line 12:  4711 Terminated              python train.py",
            "已终止",
            "50%|#####     | 4/8 [00:01<00:00, 4.20it/s]Terminated",
            "[1]+  Terminado               python train.py",
            "srun: error: node07: task 3: Terminated",
        ),
        (
            "Episode Terminated early",
            "Terminado en 12 s",
            "num_terminated: 3",
            "Beendet",
            "Status: Terminated",
            "episodes: 12 Terminated",
        ),
        role="cascade",
        source="glibc strsignal and its translations, bash, zsh, slurm",
    ),
    Signature(
        "interrupted",
        "interrupted",
        r"^\s*KeyboardInterrupt\s*$|Detected KeyboardInterrupt|(?:^|[\]|>%])\s*\^C(?:\s|$|[A-Z]|\^)|^KeyboardInterrupt: |(?i:\binterrupted by (?:the )?(?:user|keyboard)|\buser interrupt(?:ed|ion)\b|keyboard ?interrupt(?:ion)? (?:received|detected|caught|occurred|signal)|(?:received|detected|caught|got)(?: a)? keyboard ?interrupt|exiting from training early|ctrl(?:[-+ ]| \+ )c (?:was )?(?:pressed|received|caught|detected))"
        r"|\bSIGINT (?:was )?(?:received|caught)|(?:[Rr]eceived|[Cc]aught|[Gg]ot)(?: signal)?:? SIGINT\b|Received (?:Signals\.SIGINT|2) death signal|got signal: 2\b|exited on signal 2\b|\bStop signal received \(e\.g\. via SIGINT",
        (
            "keyboardinterrupt",
            "keyboard interrupt",
            "^c",
            "ctrl+c",
            "ctrl-c",
            "ctrl c",
            "ctrl + c",
            "interrupted by",
            "user interrupt",
            "sigint",
            "got signal",
            "death signal",
            "on signal",
            "training early",
            "stop signal received",
        ),
        (
            "KeyboardInterrupt",
            "UserWarning: Detected KeyboardInterrupt, attempting graceful shutdown...",
            "50%|#####     | 4/8 [00:01<00:00, 4.20it/s]^C",
            "^C",
            "Training interrupted by user",
            "Received Signals.SIGINT death signal, shutting down workers",
            "Caught keyboard interrupt, saving the model",
            "WARNING tune.py:219 -- Stop signal received (e.g. via SIGINT/Ctrl+C), ending Ray Tune run.",
        ),
        (
            "except KeyboardInterrupt:",
            "(Press CTRL+C to quit)",
            "Press Ctrl+C to stop the server",
            "use ctrl-c to interrupt",
        ),
        severity="warning",
        source="cpython, Lightning, torch elastic, fairseq, MLX examples",
    ),
    Signature(
        "interrupted-status",
        "interrupted",
        rf"{EXIT}130{STATUS_ENDS}",
        EXIT_ATOMS,
        ("make: *** [train] exited with code 130", "Exited with exit code 130."),
        ("exit code: 13", "exit code 1301"),
        role="cascade",
        severity="warning",
        source="shells; LSF says it of jobs that it ended itself",
    ),
)
