"""The daemon of a drill: the real one with the user's configuration, in a folder of its own.

It knows no run but the toy, ends with the command that started it, and marks every push.
Its words are the state directory and, if one was named, the configuration file.
"""

from __future__ import annotations

import signal
import sys
from dataclasses import replace
from pathlib import Path

from ..config.load import load
from ..config.paths import StateDir, config_file
from ..config.schema import Config
from ..service.app import App
from ..system.clock import SystemClock
from ..system.worker_main import die_with_parent

HANG_S = 5.0
"""Silence that counts as a hang in a drill: nobody wants to wait for a whole minute. The look at
the processes, 15 seconds, is as long as always."""


def for_drill(config: Config) -> Config:
    """The user's configuration, but one push to every URL and nothing beside it."""
    limits = dict(config.limits)
    if "hang" in limits:
        limits["hang"] = replace(limits["hang"], floor_s=HANG_S, few_steps_s=HANG_S)
    alerts = replace(
        config.alerts,
        mode="all",  # a ladder's lower steps must hold too
        min_severity="critical",
        resolved=False,
        finished=False,
        repeat_s=(),
    )
    return replace(config, alerts=alerts, watch=replace(config.watch, status_dir=""), limits=limits)


def main(arguments: list[str] | None = None) -> int:
    """Watch until told to stop, or until the command is gone."""
    words = sys.argv[1:] if arguments is None else arguments
    die_with_parent(how=signal.SIGTERM)
    config = load(Path(words[1]) if len(words) > 1 else config_file())
    App(StateDir(Path(words[0])), for_drill(config), SystemClock(), drill=True).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
