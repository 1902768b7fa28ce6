"""Signatures of how processes end: killed, crashed, told to stop, interrupted by a person.

Wordings: shells and libc in several languages, systemd, docker, torch elastic, MPI, Go,
Rust, Lightning, submitit, MLX.
"""

from __future__ import annotations

from .form import Signature

_BEHIND = r"(?:^|[\]|>%]|\dZ)\s*"
"""Before a shell's word for an end: nothing, a time, or the bar it was written behind."""
_BARE = r"(?:^|(?<!signal):|[\]|>%]|\dZ)\s*"
"""The same, or somebody's name before it."""
_EXIT = r"(?i:\bexit(?:ed)?(?: with)?(?: exit)?[ _-]?(?:code|status)?)\s{0,3}[:=(]?\s{0,8}"
_EXIT_ATOMS = (
    "exit code",
    "exit_code",
    "exit-code",
    "exitcode",
    "exit status",
    "exited with",
    "exited (",
    "exit with",
)
_SIGNAL_ATOMS = (
    "signal: ",
    "(signal",
    "signal sig",
    *(
        f"{word} signal"
        for word in ("by", "on", "with", "from", "got", "caught", "exit", "to", "death")
    ),
)
_SYSTEMD_ATOMS = ("code=killed", "code=dumped")
_LINE = r"(?:(?:line|行|Zeile|ligne|línea|linha|riga|строка|줄) ?\d+|\d+ ?行) ?[:：]\s+\d+\s+"
"""How bash names the line of the script, and the process: ``line 12:  4711 Killed``."""
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
_CRASHED = (
    r"(?:[Ss]egmentation fault|段错误|區段錯誤|程式記憶體區段錯誤|Speicherzugriffsfehler|Erreur de segmentation|Violación de segmento|Falha de segmentação|Errore di segmentazione|Ошибка сегментирования|세그멘테이션 (?:오류|폴트)"
    r"|Naruszenie ochrony pamięci|セグメンテーション違反|セグメンテーションエラー)"
)
_CRASHED_ATOMS = (
    "segmentation fault",
    "段错误",
    "區段錯誤",
    "speicherzugriffsfehler",
    "erreur de segmentation",
    "violación de segmento",
    "falha de segmentação",
    "errore di segmentazione",
    "ошибка сегментирования",
    "세그멘테이션",
    "naruszenie ochrony",
    "セグメンテーション",
)

JOBS: tuple[Signature, ...] = (
    Signature(
        "killed-word",
        "process_killed",
        rf"{_BARE}{_KILLED}[.!]?\s*$|{_LINE}{_KILLED}(?:\s|$)|^\[\d+\][+-]?\s+(?:\d+\s+)?{_KILLED}(?:\s|$)|^\[\d+\]\s+[+-]?\s*\d+ killed\s|\bzsh: killed\s|{_BARE}Killed: 9\s*$|: Killed: 9\b|^\S+: killed\s*$"
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
        rf"{_EXIT}(?:137|-9)\b(?![.,%]\d)|\breturned non-zero exit status (?:137|-9)\b|\breturn(?:ed)?(?: ?code)?\s?[=:]? ?-9\b|\bdied with <Signals\.SIGKILL|\bstatus=9/KILL|(?<!nding )(?<!end )(?i:\bsignal:? (?:9\b|SIGKILL\b|killed\b(?! by)))(?!\.)|\bSIGKILL\) received by|KILLED BY SIGNAL: 9\b"
        r"|(?<!\) is )\bkilled by (?:SIGKILL|signal 9)|\bSIGKILL: kill\b|\bexit signal Killed\b|interrupted by signal 9",
        (*_EXIT_ATOMS, *_SIGNAL_ATOMS, *_SYSTEMD_ATOMS, "sigkill", "return code", "returncode"),
        (
            "failed (exitcode: -9) local_rank: 2 (pid: 4711) of binary: /usr/bin/python3",
            "  exitcode  : -9 (pid: 4711)",
            "  traceback : Signal 9 (SIGKILL) received by PID 4711",
            "command terminated, exited with code 137",
            "Process finished with exit code 137 (interrupted by signal 9: SIGKILL)",
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
        "segfault",
        "segfault",
        rf"(?<!image )\b{_CRASHED}(?!s)|^(?!.*(?:[Bb]us error|总线错误|匯流排錯誤|バスエラー|Bus-Zugriffsfehler)).*\((?:core dumped|核心已转储|吐核|コアダンプ|Speicherabzug geschrieben|imagem do núcleo gravada|`core' generado|creato dump del core|코어 덤프됨)\)"
        r"|\bSIGSEGV\b(?! handler)|\(exitcode: -11\)|\bexitcode\s{0,3}[:=] ?-11\b|\bsegfault at [0-9a-f]+ ip|traps: \S{1,40} general protection fault ip|traps: \S{1,40} trap (?:invalid opcode|divide error|int3)|exited on signal (?:11|6|4)\b|\bCaught signal (?:11|4|8)\b"
        r"|status=(?:11/SEGV|6/ABRT|4/ILL)|\bdumped core\b|zsh: (?:segmentation fault|abort|illegal hardware)|Fatal Python error: (?:Segmentation|Aborted|Illegal)|\*\*\* (?:stack smashing detected|Process received signal) \*\*\*",
        (
            *_CRASHED_ATOMS,
            "core dumped",
            "核心已转储",
            "吐核",
            "コアダンプ",
            "speicherabzug",
            "imagem do núcleo",
            "`core' generado",
            "dump del core",
            "코어 덤프됨",
            "sigsegv",
            "exitcode",
            "segfault at",
            "traps: ",
            "on signal",
            "caught signal",
            *_SYSTEMD_ATOMS,
            "dumped core",
            "zsh: ",
            "fatal python error",
            "stack smashing",
            "process received signal",
        ),
        (
            "Segmentation fault (core dumped)",
            "段错误 (核心已转储)",
            "Speicherzugriffsfehler (Speicherabzug geschrieben)",
            "Erreur de segmentation (core dumped)",
            "train.sh: line 3: 4711 Aborted                 (core dumped) python a.py",
            "Illegal instruction (core dumped)",
            "python[4711]: segfault at 0 ip 00007f sp 00007f error 4",
            "traps: python[4711] general protection fault ip:7f00 sp:7f00 error:0 in libcuda.so",
            "[node07:4711] *** Process received signal ***",
            "Caught signal 11 (Segmentation fault: address not mapped to object at address 0x8)",
            "systemd-coredump[9]: Process 4711 (python) of user 0 dumped core.",
            "Fatal Python error: Segmentation fault",
            "(signal: 11, SIGSEGV: invalid memory reference)",
            "srun: error: node07: task 0: Segmentation fault (core dumped)",
        ),
        (
            "image segmentation faults dataset",
            "Killed",
            "model.segfault_rate: 0",
            "Bus error (core dumped)",
        ),
        source="glibc strsignal and its translations, bash, cpython faulthandler, Open MPI, UCX, systemd-coredump",
    ),
    Signature(
        "segfault-status",
        "segfault",
        rf"{_EXIT}(?:139|-11)\b(?![.,%]\d)|\bdied with <Signals\.SIG(?:SEGV|ABRT|ILL)|^(?:double free or corruption|free\(\): invalid|malloc\(\): |malloc_consolidate\(\): |munmap_chunk\(\): |corrupted (?:size vs|double-linked)|realloc\(\): invalid|tcache_)|: (?:double free or corruption|free\(\): invalid|munmap_chunk\(\): invalid)",
        (
            *_EXIT_ATOMS,
            "signals.sig",
            "double free",
            "free(): invalid",
            "malloc(): ",
            "malloc_consolidate(): ",
            "munmap_chunk(): ",
            "corrupted size",
            "corrupted double",
            "realloc(): invalid",
            "tcache_",
        ),
        (
            "command terminated with exit code 139",
            "Process finished with exit code -11",
            "double free or corruption (!prev)",
            "free(): invalid pointer",
            "munmap_chunk(): invalid pointer",
            "subprocess.CalledProcessError: Command 'python a.py' died with <Signals.SIGSEGV: 11>.",
        ),
        ("exit code: 13", "free(): done", "malloc arena max: 4"),
        source="glibc malloc/malloc.c, cpython subprocess, docker",
    ),
    Signature(
        "sigterm",
        "sigterm_received",
        r"(?i:\b(?:received|got|caught|handling)(?: a| the)?(?: termination)?(?: signal)?[: ]{1,2}(?:Signals\.)?SIG(?:TERM|HUP)\b|\bSIGTERM (?:was |signal )?(?:received|caught|detected)|(?:received|got|caught) signal:? 15\b)|\bgot signal: (?:15|1)\b|Received (?:15|Signals\.SIG(?:TERM|HUP)|1) death signal"
        rf"|{_EXIT}143\b(?![.,%]\d)|\bstatus=15/TERM|\bexited on signal 15\b|(?<!nding )(?<!end )\bsignal:? (?:15\b|terminated\b)(?!\.)|\bdied with <Signals\.SIGTERM|\bTerminated by signal 15\b|KILLED BY SIGNAL: 15\b",
        (
            "sigterm",
            "sighup",
            *_SIGNAL_ATOMS,
            *_SYSTEMD_ATOMS,
            *_EXIT_ATOMS,
        ),
        (
            "Main process received SIGTERM, exiting",
            "[rank: 0] Received SIGTERM: 15",
            "Received Signals.SIGHUP death signal, shutting down workers",
            "torch.distributed.elastic.multiprocessing.api.SignalException: Process 4711 got signal: 15",
            "INFO: SIGTERM received, saving a checkpoint",
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
        rf"{_BEHIND}(?:Terminated|已终止|已終止|Hangup)\s*$|{_LINE}(?:Terminated|已终止|Beendet|Hangup)(?:\s|$)|^\[\d+\][+-]?\s+(?:\d+\s+)?(?:Terminated|Terminado|已终止|Beendet|Hangup)\s{{2,}}\S|\bzsh: (?:terminated|hangup)\s|srun: error: \S+: tasks? [\d,-]+: Terminated",
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
        r"|\bSIGINT (?:was )?(?:received|caught)|(?:[Rr]eceived|[Cc]aught|[Gg]ot)(?: signal)?:? SIGINT\b|Received (?:Signals\.SIGINT|2) death signal|got signal: 2\b|exited on signal 2\b|\bexit(?:ed)?(?: with)?(?: exit)? (?:code|status):? 130\b",
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
            "exit code",
            "exit status",
            "exited with",
        ),
        (
            "KeyboardInterrupt",
            "UserWarning: Detected KeyboardInterrupt, attempting graceful shutdown...",
            "50%|#####     | 4/8 [00:01<00:00, 4.20it/s]^C",
            "^C",
            "Training interrupted by user",
            "Received Signals.SIGINT death signal, shutting down workers",
            "Caught keyboard interrupt, saving the model",
            "make: *** [train] exited with code 130",
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
)
