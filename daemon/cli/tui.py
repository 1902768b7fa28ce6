"""``tui``: the terminal screen. No other part of the daemon package imports the screens."""

from __future__ import annotations

import argparse

from ..config.secrets import mask
from ..system.errors import UsageError
from .context import state


def tui(args: argparse.Namespace) -> int:
    """Open the terminal screen on the daemon of this box."""
    if args.host:
        raise UsageError(
            "watching other boxes from here is not in this version",
            f"use: ssh -t {args.host[0]} middlewatch tui",
        )
    from middlewatch.tui.app import main

    return main(
        str(state(args).socket),
        mask=mask,
        look=args.theme,
        ascii=args.ascii,
        mouse=not args.no_mouse,
    )
