"""Every peer in both of its configurations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import get_args

from .gpuwatch import Gpuwatch
from .monit import Monit
from .netdata import Netdata
from .peer import Peer, Style
from .prometheus import Prometheus

PEERS: tuple[type[Peer], ...] = (Gpuwatch, Monit, Netdata, Prometheus)


def peers() -> dict[str, Callable[[], Peer]]:
    """Makers by name, ``monit-default`` and so on."""
    return {
        f"{one.peer}-{style}": partial(one, style) for one in PEERS for style in get_args(Style)
    }
