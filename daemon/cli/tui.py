"""``tui``: the terminal screen. No other part of the daemon package imports the screens."""

from __future__ import annotations

import argparse

from ..config.secrets import mask
from ..remote.relayed import Relayed
from .context import state


def tui(args: argparse.Namespace) -> int:
    """Open the terminal screen on the daemon of this box, or on those of other boxes over ssh."""
    if args.web:
        from middlewatch.tui.web import serve

        return serve(_again(args), args.port)
    from middlewatch.tui.app import main

    far = {host: Relayed(host) for host in dict.fromkeys(args.host)}
    try:
        return main(
            str(state(args).socket),
            {host: client.ask for host, client in far.items()},
            mask=mask,
            look=args.theme,
            ascii=args.ascii,
            mouse=not args.no_mouse,
        )
    finally:
        for client in far.values():
            client.close()


def _again(args: argparse.Namespace) -> list[str]:
    """The same screens as words, for the process that a browser's page gets."""
    words = ["tui", *args.host, "--state-dir", str(state(args).root)]
    words += ["--theme", args.theme] if args.theme else []
    return words + (["--ascii"] if args.ascii else [])
