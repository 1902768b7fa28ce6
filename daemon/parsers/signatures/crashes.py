"""Signatures of crashes: a process that its own error ended, by a signal.

Wordings: shells and libc in several languages, CPython, Open MPI, UCX, systemd, glibc's heap.
"""

from __future__ import annotations

from .ends import BARE, BEHIND, EXIT, EXIT_ATOMS, LINE, STATUS_ENDS, SYSTEMD_ATOMS
from .form import Signature

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
_ABORTED = r"(?:Aborted|已放弃|已中止|Abgebrochen|Abandon|Abortado|Annullato|Аварийный останов|中止|アボートしました)"
_ABORTED_ATOMS = (
    "aborted",
    "已放弃",
    "已中止",
    "中止",
    "abgebrochen",
    "abandon",
    "abortado",
    "annullato",
    "аварийный останов",
    "アボートしました",
)

CRASHES: tuple[Signature, ...] = (
    Signature(
        "segfault",
        "segfault",
        rf"(?<!image )(?<!by a )(?<!by signal: )(?<!nexpected )\b{_CRASHED}(?!s|.{{0,60}}[?？])|^(?!.*(?:[Bb]us error|总线错误|匯流排錯誤|バスエラー|Bus-Zugriffsfehler|{_ABORTED})).*\((?:core dumped|核心已转储|吐核|コアダンプ|Speicherabzug geschrieben|imagem do núcleo gravada|`core' generado|creato dump del core|코어 덤프됨)\)(?!.{{0,60}}[?？])"
        r"|\bSIGSEGV\b(?! handler)|\(exitcode: -11\)|\bexitcode\s{0,3}[:=] ?-11\b|\bsegfault at [0-9a-f]+ ip|traps: \S{1,40} general protection fault ip|traps: \S{1,40} trap (?:invalid opcode|divide error|int3)|exited on signal (?:11|4)\b|\bCaught signal (?:11|4|8)\b"
        r"|status=(?:11/SEGV|4/ILL)|\bdumped core\b|zsh: (?:segmentation fault|illegal hardware)|Fatal Python error: (?:Segmentation|Illegal)|\*\*\* (?:stack smashing detected|Process received signal) \*\*\*",
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
            *SYSTEMD_ATOMS,
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
            "Aborted (core dumped)",
            "title: Segmentation fault (core dumped), what can I do?",
            "RuntimeError: DataLoader worker (pid 9) is killed by signal: Segmentation fault. ",
            "Bus error (core dumped)",
        ),
        source="glibc strsignal and its translations, bash, cpython faulthandler, Open MPI, UCX, systemd-coredump",
    ),
    Signature(
        "segfault-status",
        "segfault",
        rf"{EXIT}(?:139|-11){STATUS_ENDS}|\bdied with <Signals\.SIG(?:SEGV|ILL)|^(?:double free or corruption|free\(\): invalid|malloc\(\): |malloc_consolidate\(\): |munmap_chunk\(\): |corrupted (?:size vs|double-linked)|realloc\(\): invalid|tcache_)|: (?:double free or corruption|free\(\): invalid|munmap_chunk\(\): invalid)",
        (
            *EXIT_ATOMS,
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
        "aborted",
        "segfault",
        rf"{BEHIND}{_ABORTED}(?: \(.{{1,30}}\))?[.!]?\s*$|{BARE}{_ABORTED} \(.{{1,30}}\)\s*$|{LINE}{_ABORTED}\s|^\[\d+\][+-]?\s+(?:\d+\s+)?{_ABORTED}\s|\bSIGABRT\b(?! handler)|\(exitcode: -6\)|\bexitcode\s{{0,3}}[:=] ?-6\b|{EXIT}(?:134|-6){STATUS_ENDS}"
        rf"|\bexited on signal 6\b|status=6/ABRT|zsh: abort\b|Fatal Python error: Aborted|srun: error: \S+: tasks? [\d,-]+: Aborted",
        (
            *_ABORTED_ATOMS,
            *EXIT_ATOMS,
            *SYSTEMD_ATOMS,
            "sigabrt",
            "exitcode",
            "on signal",
            "zsh: abort",
        ),
        (
            "Aborted (core dumped)",
            "Aborted",
            "Abandon (core dumped)",
            "train.sh: line 3: 4711 Aborted                 (core dumped) python a.py",
            "Fatal Python error: Aborted",
            "(exitcode: -6) local_rank: 3 (pid: 4711)",
            "srun: error: node07: task 0: Aborted (core dumped)",
            "  traceback : Signal 6 (SIGABRT) received by PID 4711",
            "command terminated with exit code 134",
        ),
        (
            "Aborted by the user",
            "requests aborted: 0",
            "exit code: 13",
            "status: aborted",
            "0 aborted",
        ),
        role="cascade",
        source="glibc strsignal and its translations, bash: an abort follows an error that was told of",
    ),
)
