"""``watchbox``: a second pair of eyes, on a laptop or another box, that asks over ssh whether a box answers.

What dies with its box cannot tell of it. This command runs in the foreground, asks the daemon there by the
system's own ssh, and calls the alert URLs of the machine on which it runs.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..config.phones import all_urls
from ..config.secrets import mask
from ..config.times import zone_of
from ..report import box_words
from ..report.box_words import BoxAnswer
from ..report.messages import Message
from ..report.outbox import Outbox
from ..system.clock import Clock, SystemClock, epoch
from ..system.errors import ConfigError, UsageError
from ..text.moments import local
from . import console
from .context import configuration, state
from .phone import ADD
from .silence import seconds

LEAST_S, CONNECT_S, ANSWER_S = 5.0, 10, 30.0
"""Seconds between two looks at least, for a connection, and for the whole answer. Our choice: a box that
swaps takes 20 s to start a Python."""
PUMP_S = 0.2
"""Seconds between two looks at what was sent, while something is."""
_NOT_FOUND, _SSH_FAILED, _NO_DAEMON, _USAGE = 127, 255, 3, 2


class NoAnswer(Exception):
    """The box, or its daemon, did not answer; the words say why."""


@dataclass(slots=True)
class Far:
    """A box that ssh reaches."""

    host: str
    ssh: Sequence[str] = ("ssh",)
    program: str = "middlewatch"

    def ask(self, *words: str, fine: Sequence[int] = (0, 1)) -> Any:
        """What a command of middlewatch there prints as JSON; ``None`` with status 2. Raises NoAnswer."""
        # Nobody is there to type a password. A connection that hangs is ended by ssh itself.
        options = ["-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT_S}"]
        options += ["-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"]
        argv = [*self.ssh, *options, "--", self.host, shlex.join([self.program, *words, "--json"])]
        try:
            done = subprocess.run(
                argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=ANSWER_S, check=False
            )
        except subprocess.TimeoutExpired:
            raise NoAnswer(f"no answer within {ANSWER_S:.0f} s") from None
        except OSError as error:
            raise UsageError(
                f"{self.ssh[0]} cannot be started: {error.strerror or error}"
            ) from error
        said = done.stderr.decode("utf-8", "replace").strip().split("\n")
        if done.returncode == _USAGE:
            return None
        if done.returncode not in fine:
            raise NoAnswer(self._why(done.returncode, said))
        try:
            return json.loads(done.stdout)
        except ValueError:
            raise NoAnswer("what it answers is no JSON") from None

    def _why(self, status: int, said: Sequence[str]) -> str:
        if status == _SSH_FAILED:
            return f"ssh: {said[-1] or 'no connection'}"
        if status == _NOT_FOUND:
            return f"{self.program} is not found there: name its path with --command"
        if status == _NO_DAEMON:
            return f"the box answers, its daemon does not: {said[0]}"
        return f"status {status}: {said[-1]}"

    def look(self, now: float) -> BoxAnswer:
        """The runs that the daemon there watches, in its own words. Raises NoAnswer."""
        try:
            rows = self.ask("runs") or []
            return BoxAnswer({r["run"]: (str(r["state"]), r["now"]["step"]) for r in rows}, now)
        except (KeyError, TypeError):
            raise NoAnswer("what it answers is not what middlewatch says of its runs") from None

    def found_since(self, since: float) -> list[dict[str, Any]]:
        """The incidents that were opened there since then; none if that cannot be told."""
        try:
            known = self.ask("incidents", "--all") or []
            return [one for one in known if epoch(one["opened_at"]) >= since]
        except (NoAnswer, KeyError, TypeError, ValueError):
            return []


@dataclass(slots=True)
class Watch:
    """What is known of one box. Silence is measured by the monotonic clock: it stands still while this
    machine sleeps, and a laptop that was closed has missed nothing."""

    far: Far
    here: str
    after_s: float
    last: BoxAnswer
    heard_at: float
    told: bool = False
    why: str = field(default="")

    def look(self, clock: Clock) -> Message | None:
        """Ask once; what is to be pushed, if anything."""
        try:
            seen = self.far.look(clock.now())
        except NoAnswer as error:
            self.why = mask(str(error))
            silent_s = clock.monotonic() - self.heard_at
            if self.told or silent_s < self.after_s:
                return None
            self.told = True
            return box_words.silent(
                self.far.host, self.here, self.why, self.last, clock.now(), silent_s
            )
        before, silent_s = self.last, clock.monotonic() - self.heard_at
        was_told, self.told, self.why = self.told, False, ""
        self.last, self.heard_at = seen, clock.monotonic()
        if not was_told:
            return None
        return box_words.back(
            self.far.host, before, seen, self.far.found_since(before.at), silent_s
        )


def watchbox(args: argparse.Namespace) -> int:
    """Ask a box again and again, until Ctrl-C. Raises UsageError, and ConfigError when nobody can be told."""
    if args.host.startswith("-"):
        raise UsageError(f"{args.host!r} is no host", "write it as for ssh: user@host")
    every_s, after_s = seconds(args.every), seconds(args.after)
    if every_s < LEAST_S or after_s < every_s:
        raise UsageError(
            f"--every is {LEAST_S:.0f}s at least, and --after not less than --every",
            "the defaults: --every 30s --after 3m",
        )
    config, clock = configuration(args), SystemClock()
    urls = all_urls(config.alert_urls, state(args).alert_urls)
    if not urls:
        raise ConfigError(
            "no alert URL is set on this machine: nobody could be told", f"add one: {ADD}"
        )
    far = Far(args.host, shlex.split(args.ssh), args.command)
    try:
        first = far.look(clock.now())
    except NoAnswer as error:
        raise UsageError(
            f"{args.host} does not answer: {mask(str(error))}",
            f"try by hand: {args.ssh} {args.host} {args.command} status",
        ) from error
    outbox = Outbox(
        urls,
        config.alerts,
        lambda queued: None,
        new_id=lambda: secrets.token_hex(8),
        rules=config.routes,
        zone=zone_of(config.alerts.zone),
    )
    here = config.alerts.host or os.uname().nodename
    watch = Watch(far, here, after_s, first, clock.monotonic())
    _say(args, watch, clock.now(), "")
    try:
        while True:
            _pump(outbox, clock, every_s)
            message = watch.look(clock)
            if message is not None:
                outbox.push(message, clock.now(), clock.monotonic())
            _say(args, watch, clock.now(), message.title if message else "")
    finally:
        outbox.close()


def _pump(outbox: Outbox, clock: Clock, wait_s: float) -> None:
    """Wait until the next look, and send meanwhile."""
    until = clock.monotonic() + wait_s
    while (left := until - clock.monotonic()) > 0:
        outbox.pump(clock.now(), clock.monotonic())
        clock.sleep(min(left, PUMP_S if outbox.busy() else 1.0))


def _say(args: argparse.Namespace, watch: Watch, now: float, told: str) -> None:
    """One line for each look."""
    runs = {run: {"state": known[0], "step": known[1]} for run, known in watch.last.runs.items()}
    if args.json:
        console.as_json(
            {"host": watch.far.host, "at": now, "why": watch.why, "runs": runs, "pushed": told}
        )
        return
    some = ", ".join(f"{run} {known['state']}" for run, known in runs.items()) or "no run"
    answer = f"no answer: {watch.why}" if watch.why else f"answers: {some}"
    console.say(f"{local(now, now)}  {watch.far.host}  {answer}")
    if told:
        console.say(f"pushed: {told}")
