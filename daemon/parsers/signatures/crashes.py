"""Signatures of crashes: a process that was ended by a signal because of its own error.

Wordings: shells and libc in several languages, CPython, Open MPI, UCX, systemd, glibc's heap.
"""

from __future__ import annotations

from .ends import BARE, BEHIND, EXIT, LINE, STATUS_ENDS
from .form import Signature

_CRASHED = (
    r"(?:[Ss]egmentation fault|段错误|區段錯誤|程式記憶體區段錯誤|Speicherzugriffsfehler|Erreur de segmentation|Violación de segmento|Falha de segmentação|Errore di segmentazione|Ошибка сегментирования|세그멘테이션 (?:오류|폴트)"
    r"|Naruszenie ochrony pamięci|セグメンテーション違反|セグメンテーションエラー)"
)
_ABORTED = r"(?:Aborted|已放弃|已中止|Abgebrochen|Abandon|Abortado|Annullato|Аварийный останов|中止|アボートしました)"

_WINDOWS = "3221225477|-1073741819|3221225725|-1073741571|3221226505|-1073740791|0[xX][cC]0000(?:005|0[fF][dD]|409)"
"""Windows: access violation, stack overflow, stack buffer overrun; without a sign, with one, in hexadecimal."""

CRASHES: tuple[Signature, ...] = (
    Signature(
        "segfault",
        "segfault",
        rf"(?<!image )(?<!by a )(?<!by signal: )(?<!nexpected )\b{_CRASHED}(?!s|.{{0,60}}[?？])"
        rf"|^(?!.*(?:[Bb]us error|总线错误|匯流排錯誤|バスエラー|Bus-Zugriffsfehler|{_ABORTED})).*\((?:core dumped"
        r"|核心已转储"
        r"|吐核"
        r"|コアダンプ"
        r"|Speicherabzug geschrieben"
        r"|imagem do núcleo gravada"
        r"|`core' generado"
        r"|creato dump del core"
        r"|코어 덤프됨)\)(?!.{0,60}[?？])"
        r"|\bSIGSEGV\b(?! handler)"
        r"|\(exitcode: -11\)"
        r"|\bexitcode\s{0,3}[:=] ?-11\b"
        r"|\[(?P<pid_at>\d+)\]: segfault at [0-9a-f]+ ip(?:.{0,120} in (?P<library>[^\[\s]{1,80})\[)?"
        r"|\bsegfault at [0-9a-f]+ ip"
        r"|traps: \S{1,40}?\[(?P<pid_trap>\d+)\] (?:general protection fault ip|trap (?:invalid opcode|divide error|int3))"
        r"|traps: \S{1,40} general protection fault ip"
        r"|traps: \S{1,40} trap (?:invalid opcode|divide error|int3)"
        r"|exited on signal (?:11|4)\b"
        r"|\bCaught signal (?:11|4|8)\b"
        r"|status=(?:11/SEGV|4/ILL)"
        r"|\bdumped core\b"
        r"|zsh: (?:segmentation fault|illegal hardware)"
        r"|Fatal Python error: (?:Segmentation|Illegal)"
        r"|\*\*\* (?:stack smashing detected|Process received signal) \*\*\*",
        source="glibc strsignal and its translations, bash, cpython faulthandler, Open MPI, UCX, systemd-coredump",
    ),
    Signature(
        "segfault-status",
        "segfault",
        rf"{EXIT}(?:139|-11|{_WINDOWS}){STATUS_ENDS}"
        r"|\bdied with <Signals\.SIG(?:SEGV|ILL)"
        r"|^(?:double free or corruption"
        r"|free\(\): invalid"
        r"|malloc\(\): "
        r"|malloc_consolidate\(\): "
        r"|munmap_chunk\(\): "
        r"|corrupted (?:size vs|double-linked)"
        r"|realloc\(\): invalid"
        r"|tcache_)"
        r"|: (?:double free or corruption|free\(\): invalid|munmap_chunk\(\): invalid)",
        source="glibc malloc/malloc.c, cpython subprocess, docker, Windows ntstatus.h",
    ),
    Signature(
        "aborted",
        "segfault",
        rf"{BEHIND}{_ABORTED}(?: \(.{{1,30}}\))?[.!]?\s*$"
        rf"|{BARE}{_ABORTED} \(.{{1,30}}\)\s*$"
        rf"|{LINE}{_ABORTED}\s"
        rf"|^\[\d+\][+-]?\s+(?:\d+\s+)?{_ABORTED}\s"
        r"|\bSIGABRT\b(?! handler)"
        r"|\(exitcode: -6\)"
        r"|\bexitcode\s{0,3}[:=] ?-6\b"
        rf"|{EXIT}(?:134|-6){STATUS_ENDS}"
        r"|\bexited on signal 6\b"
        r"|status=6/ABRT"
        r"|zsh: abort\b"
        r"|Fatal Python error: Aborted"
        r"|srun: error: \S+: tasks? [\d,-]+: Aborted",
        role="cascade",
        source="glibc strsignal and its translations, bash: an abort follows a reported error",
    ),
)
