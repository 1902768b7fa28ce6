"""Exit statuses in the words of launchers, shells and schedulers."""

from __future__ import annotations

import re

STATUS = re.compile(
    r"(?i)(?:\b(?:code|(?:exit|return|termination)[ _]status|exited with status|statut|estado|stato|código|codice|kod|koda|returncode|rc|exitcode|rückgabe\w*|exit(?=\W{1,3}\d)|mpirun|srun|код\w*|статус\w*)\b|码|コード|코드|상태)"
    r"[^\d\n-]{0,20}(?P<status>-?(?:[1-9]\d?|1\d\d|25[0-5]))\b(?![.,]\d)"
)
"""An exit status that is not 0 and no status of HTTP; in most languages one of these words comes before it."""


def signal_of(text: str) -> int | None:
    """The signal of an exit status in a line, as Python (-9) and shells (137) give it."""
    for match in STATUS.finditer(text):
        status = int(match["status"])
        if -64 < status < 0 or 128 < status < 192:
            return -status if status < 0 else status - 128
    return None
