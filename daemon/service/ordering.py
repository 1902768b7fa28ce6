"""Hands what was decided to the supervisor of the run that has ended, and sees what comes of it."""

from __future__ import annotations

import fcntl
import os

from ..launch import next_command
from ..launch.next_command import Order
from ..report.again_words import Restart
from ..system.worker import module_argv
from .context import Context
from .phases_seen import plan_of
from .watched_run import WatchedRun

READY_S = 60.0
"""Seconds after an end in which its supervisor must wait for a word (our choice): it first writes its exit
record, which a full disk makes slow."""
GRACE_S = 120.0
"""Seconds after an order in which the command that carries it out must have taken the lock of the run
(our choice): it waits 20 s at most for the last lines of the run."""


class Ordering:
    """The orders of one daemon."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def gone(self, watched: WatchedRun) -> str | None:
        """Why nobody can start what follows; empty: that is not sure yet; ``None``: somebody can."""
        if next_command.waits(self._context.state.run(watched.spec.id)):
            return None
        if self._context.clock.now() - (watched.ended_at or 0.0) < READY_S:
            return ""
        return "its supervisor is gone, and with it the environment of its command (was the box restarted?)"

    def give(self, watched: WatchedRun, one: Restart) -> str:
        """Tell its supervisor; why that cannot be done, or an empty text. To be called again after a restart
        of the daemon, if the word was not taken yet."""
        spec, config, plan = watched.spec, self._context.config.path, plan_of(watched)
        order = Order(
            one.next_run,
            attempt=1 if one.phase else spec.attempt + 1,
            again=spec.again,
            again_used=0 if one.phase else spec.again_used + 1,
            plan=spec.plan,
            phase=one.phase or spec.phase,
            milestones=spec.milestones,
            command=plan.phases[one.number - 1].command if plan and one.phase else (),
        )
        words = [*module_argv("middlewatch.daemon.cli"), "resume", spec.id, "--exec", "--ordered"]
        words += ["--json", "--state-dir", str(self._context.state.root)]
        words += ["--config", config] if config else []
        folder = self._context.state.run(spec.id)
        try:
            next_command.write(folder, next_command.ORDER, order.to_json())
            next_command.say(folder, words)
        except (OSError, ValueError) as error:
            return f"its supervisor cannot be told: {error}"
        return ""

    def trouble(self, watched: WatchedRun, one: Restart) -> str:
        """Why an order has come to nothing; empty while that is not known."""
        folder = self._context.state.run(watched.spec.id)
        result = next_command.read(folder, next_command.RESULT)
        if result is not None and result.get("id") == one.next_run and result.get("why"):
            return f"{one.attempt} could not be started: {result['why']}"
        if next_command.waits(folder):
            return self.give(watched, one)
        if self._context.clock.now() - one.ordered_at < GRACE_S or _is_locked(str(folder)):
            return ""
        begun = self._context.state.run(one.next_run).exists()
        more = ". It may run all the same: look for its process" if begun else ""
        return f"what should start {one.attempt} ended without a word ({folder}/next.log){more}"


def _is_locked(folder: str) -> bool:
    """Whether a command holds the lock of the folder of a run."""
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False
