"""Signatures of how processes end: killed, told to stop, interrupted by a person.

Wordings: shells and libc in several languages, systemd, docker, torch elastic, MPI, Go,
Rust, Lightning, submitit, MLX.
"""

from __future__ import annotations

from .ends import BARE, BEHIND, EXIT, LINE, STATUS_ENDS
from .form import Signature

_KILLED = r"(?:Killed|已杀死|已殺死|已砍掉|Getötet|Processus arrêté|Terminado \(killed\)|強制終了|Убито|Ucciso|Matado|Morto|죽었음)"

JOBS: tuple[Signature, ...] = (
    Signature(
        "killed-word",
        "process_killed",
        rf"{BARE}{_KILLED}[.!]?\s*$"
        rf"|{LINE}{_KILLED}(?::? ?9)?(?:\s|$)"
        rf"|^\[\d+\][+-]?\s+(?:\d+\s+)?{_KILLED}(?:\s|$)"
        r"|^\[\d+\]\s+[+-]?\s*\d+ killed\s"
        r"|\bzsh: killed\s"
        rf"|{BARE}Killed: 9\s*$"
        r"|: Killed: 9\b"
        r"|^\S+: killed\s*$"
        r"|srun: error: \S+: tasks? [\d,-]+: Killed",
        source="glibc strsignal and its translations, bash, zsh, slurm",
    ),
    Signature(
        "killed-status",
        "process_killed",
        rf"{EXIT}(?:137|-9){STATUS_ENDS}"
        r"|\breturned non-zero exit status (?:137|-9)\b"
        r"|\breturn(?:ed)?(?: ?code)? ?[=:]? ?-9\b"
        r"|\bdied with <Signals\.SIGKILL"
        r"|\bstatus=9/KILL"
        r"|(?<!nding )(?<!end )(?i:\bsignal:? (?:9\b|SIGKILL\b|killed\b(?! by)))(?!\.)"
        r"|\bSIGKILL\) received by"
        r"|KILLED BY SIGNAL: 9\b"
        r"|(?<!\) is )\bkilled by (?:SIGKILL|signal 9)"
        r"|\bSIGKILL: kill\b"
        r"|\bexit signal Killed\b"
        r"|interrupted by signal 9"
        r"|in the process pool was terminated abruptly"
        r"|managed by the executor was unexpectedly terminated",
        source="torch elastic, mpirun, docker, systemd, kubernetes, Go os/exec, cargo, cpython subprocess, Cray ALPS",
    ),
    Signature(
        "sigterm",
        "sigterm_received",
        r"(?i:\bafter receiving (?:a |signal )?SIG(?:TERM|HUP)\b"
        r"|\b(?:received|got|caught|captured|handling)(?: a| the)?(?: termination)?(?: signal)?[: ]{1,2}(?:Signals\.)?SIG(?:TERM|HUP)\b"
        r"|\bSIGTERM (?:was |signal )?(?:received|caught|detected)"
        r"|(?:received|got|caught) signal:? 15\b)"
        r"|\bgot signal: (?:15|1)\b"
        r"|forrtl: error \(200\): program aborting due to window-CLOSE"
        r"|Received (?:15|Signals\.SIG(?:TERM|HUP)|1) death signal"
        rf"|{EXIT}143{STATUS_ENDS}"
        r"|\bstatus=15/TERM"
        r"|\bexited on signal 15\b"
        r"|(?<!nding )(?<!end )\bsignal:? (?:15\b|terminated\b)(?!\.)"
        r"|\bdied with <Signals\.SIGTERM"
        r"|\bTerminated by signal 15\b"
        r"|\bmake(?:\[\d+\])?: \*\*\* \[[^\]]{1,200}\] (?:Error (?:124|143)\b|Terminated)"
        r"|KILLED BY SIGNAL: 15\b"
        r"|`Termination signal` is detected",
        role="cascade",
        source="torch elastic, Lightning, systemd, docker, megatron dist_signal_handler",
    ),
    Signature(
        "terminated-word",
        "sigterm_received",
        rf"{BEHIND}(?:Terminated|已终止|已終止|Hangup)\s*$"
        rf"|{LINE}(?:Terminated|已终止|Beendet|Hangup)(?:\s|$)"
        r"|^\[\d+\][+-]?\s+(?:\d+\s+)?(?:Terminated|Terminado|已终止|Beendet|Hangup)\s{2,}\S"
        r"|\bzsh: (?:terminated|hangup)\s"
        r"|srun: error: \S+: tasks? [\d,-]+: Terminated",
        role="cascade",
        source="glibc strsignal and its translations, bash, zsh, slurm",
    ),
    Signature(
        "interrupted",
        "interrupted",
        r"^\s*KeyboardInterrupt\s*$"
        r"|Detected KeyboardInterrupt"
        r"|(?:^|[\]|>%])\s*\^C(?:\s|$|[A-Z]|\^)"
        r"|^KeyboardInterrupt: "
        r"|(?i:\binterrupted by (?:the )?(?:user|keyboard)"
        r"|\buser interrupt(?:ed|ion)\b"
        r"|keyboard ?interrupt(?:ion)? (?:received|detected|caught|occurred|signal)"
        r"|(?:received|detected|caught|got)(?: a)? keyboard ?interrupt"
        r"|exiting from training early"
        r"|ctrl(?:[-+ ]| \+ )c (?:was )?(?:pressed|received|caught|detected))"
        r"|\bSIGINT (?:was )?(?:received|caught)"
        r"|(?:[Rr]eceived|[Cc]aught|[Gg]ot)(?: signal)?:? SIGINT\b"
        r"|Received (?:Signals\.SIGINT|2) death signal"
        r"|got signal: 2\b"
        r"|forrtl: error \(200\): program aborting due to control-"
        r"|exited on signal 2\b"
        r"|\bStop signal received \(e\.g\. via SIGINT",
        narrow=("^c",),
        severity="warning",
        source="cpython, Lightning, torch elastic, fairseq, MLX examples",
    ),
    Signature(
        "interrupted-status",
        "interrupted",
        rf"{EXIT}130{STATUS_ENDS}",
        role="cascade",
        severity="warning",
        source="shells; LSF prints it for jobs that it ended itself",
    ),
)
