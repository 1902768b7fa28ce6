"""How shells, launchers and systemd word the end of a process: parts of patterns."""

from __future__ import annotations

BEHIND = r"(?:^|[\]|>%]|\dZ)\s*"
"""Before a shell's word for an end: nothing, a time, or the bar it was written behind."""
BARE = r"(?:^|(?<!signal):|[\]|>%]|\dZ)\s*"
"""The same, or somebody's name before it."""
EXIT = r"(?i:\bexit(?:ed)?(?: with)?(?: exit)?[ _-]?(?:code|status)?)\s{0,3}[:=(]?\s{0,8}"
STATUS_ENDS = r"\b(?![.,%]\d)(?! (?:usually )?(?:means|stands|indicates|is retried))"
"""Behind the number of an exit status: no more digits, and no explanation of it."""
LINE = r"(?:(?:line|行|Zeile|ligne|línea|linha|riga|строка|줄) ?\d+|\d+ ?行) ?[:：]\s+\d+\s+"
"""How bash names the line of the script, and the process: ``line 12:  4711 Killed``."""
