"""Find the file into which a terminal is recorded, by ``screen -L`` or ``script``.

Whoever made a terminal holds its other side (``/dev/ptmx``), and is an ancestor of what runs in it.
What such a recorder has open for writing is the record.
"""

from __future__ import annotations

from ..system.processes import OpenFile, Process, Processes

RECORDERS = frozenset(("screen", "script", "scriptlive", "ttyrec", "unbuffer", "expect", "faketty"))
"""Programs that write what their terminal shows into a file, or to their own output, in plain."""
_MASTERS = ("/dev/ptmx", "/dev/pts/ptmx")


def recordings(process: Process, processes: Processes) -> list[tuple[Process, OpenFile]]:
    """(recorder, its file) of every file into which the terminal of ``process`` is recorded.

    Empty when it is not recorded. The nearest ancestor that made a terminal decides: in a
    ``script`` inside of ``screen -L`` the record of ``script`` is the more exact one.
    """
    for parent in processes.ancestors(process):
        if not any(file.target in _MASTERS for file in parent.files):
            continue
        if parent.comm.partition(":")[0].lower() not in RECORDERS:
            return []
        kept = [f for f in parent.files if f.regular and f.writable and f.fd > 2]
        kept = _of_window(kept, process.environ.get("WINDOW", ""))
        kept = [f for f in kept if "tim" not in f.target.rpartition("/")[2].lower()] or kept
        out = parent.file(1)
        if out is not None and out.regular and out.writable:
            kept.append(out)
        return [(parent, file) for file in kept]
    return []


def _of_window(files: list[OpenFile], window: str) -> list[OpenFile]:
    """Of the logs of several windows of ``screen`` that of one: ``screenlog.3``."""
    named = [f for f in files if window and f.target.rpartition(".")[2] == window]
    return named or files
