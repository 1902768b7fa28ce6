"""How the system's ssh is called. It asks nothing, and a dead connection is noticed within 15 s.

The name of a box is given to ssh as it was typed, so aliases, keys, jumps, ports and agents of
``~/.ssh/config`` count.
"""

from __future__ import annotations

import os
import re
import shlex

from .errors import UsageError

CONNECT_S = 10
"""Seconds for a connection. With :data:`ALIVE_S` twice a dead one is told within 15 s."""
ALIVE_S = 4
"""Seconds of silence after which ssh asks the other side for a sign, twice."""
_NAME = re.compile(r"[^\s\x00-\x20\x7f-][^\s\x00-\x1f\x7f]*")


def ssh_words() -> list[str]:
    """The program that reaches a box, with its options; ``$RSYNC_RSH`` names another, as for rsync."""
    try:
        words = shlex.split(os.environ.get("RSYNC_RSH") or "ssh")
    except ValueError:
        raise UsageError("RSYNC_RSH is no command line: a quote is open") from None
    if os.path.basename(words[0]) != "ssh":
        return words
    options = {
        "BatchMode": "yes",
        "ConnectTimeout": str(CONNECT_S),
        "ServerAliveInterval": str(ALIVE_S),
        "ServerAliveCountMax": "2",
    }
    return [
        *words,
        *(word for name, value in options.items() for word in ("-o", f"{name}={value}")),
    ]


def check_name(host: str) -> str:
    """The name of a box. Raises UsageError for one that ssh would take for an option."""
    if not _NAME.fullmatch(host):
        raise UsageError(
            f"{host!r} is no name of a box", "as you would type it after ssh: user@host"
        )
    return host
