"""The daemon of a drill: the real one with the user's configuration, in its own state directory.

It watches the toy run only, ends with the command that started it, and marks every push as a
drill. Its arguments are the state directory and, if one was given, the configuration file.
"""

from __future__ import annotations

import signal
import sys
from dataclasses import replace
from pathlib import Path

from ..config.load import load
from ..config.paths import StateDir, config_file
from ..config.schema import Answers, Config, Digest, Heartbeat
from ..service.app import App
from ..system.clock import SystemClock
from ..system.worker_main import die_with_parent

HANG_S = 5.0
"""Seconds of silence that are judged in a drill, instead of a minute, to keep it short. The
processes are then examined for 15 seconds, as always."""


def for_drill(config: Config) -> Config:
    """The user's configuration, changed so that there is one push to every URL and no other."""
    limits = dict(config.limits)
    if "hang" in limits:
        limits["hang"] = replace(limits["hang"], floor_s=HANG_S, few_steps_s=HANG_S)
    alerts = replace(
        config.alerts,
        mode="all",  # the drill has to reach every URL
        min_severity="critical",
        resolved=False,
        finished=False,
        repeat_s=(),
        quiet="",
    )
    watch = replace(config.watch, status_dir="")
    return replace(
        config, alerts=alerts, watch=watch, limits=limits,
        heartbeat=Heartbeat(), digest=Digest(), answers=Answers(), routes={}, rules=(),
    )  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Watch until SIGTERM, which also comes when the command that started this ends."""
    words = sys.argv[1:] if arguments is None else arguments
    die_with_parent(how=signal.SIGTERM)
    config = load(Path(words[1]) if len(words) > 1 else config_file())
    App(StateDir(Path(words[0])), for_drill(config), SystemClock(), drill=True).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
