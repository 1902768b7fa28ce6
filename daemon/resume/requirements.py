"""What a start command needs (variables, folder, program), and what of it is missing now."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

_SESSION = """
_ COLUMNS DBUS_SESSION_BUS_ADDRESS DISPLAY LESSCLOSE LESSOPEN LINES LOGNAME LS_COLORS MAIL
MOTD_SHOWN OLDPWD PWD SHLVL TERM TERM_PROGRAM TERM_PROGRAM_VERSION TMUX TMUX_PANE STY WINDOW
COLORTERM EDITOR VISUAL PAGER PS1 PROMPT_COMMAND INVOCATION_ID JOURNAL_STREAM
"""
_OF_A_SESSION = frozenset(_SESSION.split())
"""Variables that a shell, a terminal or a login sets for itself: no training needs them."""
_OF_A_SESSION_PREFIXES = ("SSH_", "XDG_", "LC_", "VSCODE_", "BASH_FUNC_", "GNOME_", "SUDO_")


def missing_names(names: Iterable[str], environ: Collection[str]) -> list[str]:
    """Environment variables set at the start and not set now, without those of a login."""
    return sorted(
        name
        for name in names
        if name not in environ
        and name not in _OF_A_SESSION
        and not name.startswith(_OF_A_SESSION_PREFIXES)
    )


def what_is_missing(command: Sequence[str], cwd: str) -> str:
    """A sentence about a missing folder or program; empty when both exist."""
    if not cwd or not Path(cwd).is_dir():
        return f"its folder {cwd or '(unknown)'} does not exist"
    program = command[0]
    found = str(Path(cwd, program)) if "/" in program else program
    return "" if shutil.which(found) else f"its program {program} does not exist"
