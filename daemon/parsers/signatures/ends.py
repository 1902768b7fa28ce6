"""Parts of patterns: how shells, launchers and systemd report the end of a process."""

from __future__ import annotations

BEHIND = r"(?:^|[\]|>%]|\dZ)\s*"
"""Text before a shell's word for an end: nothing, a time, or a progress bar on the same line."""
BARE = r"(?:^|(?<!signal):|[\]|>%]|\dZ)\s*"
"""The same, or the name of a program and a colon."""
EXIT = r"(?i:\bexit(?:ed)?(?: with)?(?: exit)?[ _-]?(?:code|status)?)\s{0,3}[:=(]?\s{0,8}"
STATUS_ENDS = r"\b(?![.,%]\d)(?! (?:usually )?(?:means|stands|indicates|is retried))"
"""After the number of an exit status: no further digits, and no explanation of its meaning."""
LINE = r"(?:(?:line|行|Zeile|ligne|línea|linha|riga|строка|줄) ?\d+|\d+ ?行) ?[:：]\s+\d+\s+"
"""How bash shows the line of the script and the pid: ``line 12:  4711 Killed``."""
