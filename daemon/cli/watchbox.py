"""``watchbox``: a second pair of eyes, on a laptop or another box, that asks over ssh whether a box answers.

What dies with its box cannot tell of it. This command runs in the foreground, asks the daemon there by the
system's own ssh, and calls the alert URLs of the machine on which it runs.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..config.phones import all_urls
from ..config.schema import Config
from ..config.secrets import mask
from ..config.times import zone_of
from ..remote.connection import script_for
from ..report import box_words, http_trace
from ..report.box_words import BoxAnswer
from ..report.deliveries import words_of
from ..report.messages import Message
from ..report.routes import Target, fits, targets
from ..report.sending import send
from ..system.clock import Clock, SystemClock, epoch, iso
from ..system.errors import ConfigError, UsageError
from ..system.ssh import check_name, ssh_words
from ..text.moments import local
from . import console
from .context import configuration, state
from .phone import ADD
from .silence import seconds

LEAST_S, ANSWER_S, SEND_S = 5.0, 30.0, 30.0
"""Seconds between two looks at least, for an answer, and for a push to one URL. Our choice: a box that swaps
takes 20 s to start a Python."""
_NOT_FOUND, _SSH_FAILED, _NO_DAEMON = 127, 255, 3


class NoAnswer(Exception):
    """The box, or its daemon, did not answer; the words say why."""


@dataclass(slots=True)
class Far:
    """A box that ssh reaches. ``program``: where middlewatch is on it; empty: it is looked for."""

    host: str
    program: str = ""

    def ask(self, *words: str, fine: Sequence[int] = (0, 1)) -> Any:
        """What a command of middlewatch there prints as JSON. Raises NoAnswer."""
        script = script_for([*words, "--json"], self.program)
        argv = [*ssh_words(), "-T", check_name(self.host), f"exec sh -c {shlex.quote(script)}"]
        try:
            done = subprocess.run(
                argv,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=ANSWER_S,
                check=False,
                env={**os.environ, "LC_ALL": "C"},
            )
        except subprocess.TimeoutExpired:
            raise NoAnswer(f"no answer within {ANSWER_S:.0f} s") from None
        except OSError as error:
            raise UsageError(
                f"{argv[0]} cannot be started: {error.strerror or error}", "install an ssh client"
            ) from error
        if done.returncode not in fine:
            said = done.stderr.decode("utf-8", "replace").strip().split("\n")
            raise NoAnswer(_why(done.returncode, said))
        try:
            return json.loads(done.stdout)
        except ValueError:
            raise NoAnswer("what it answers is no JSON") from None

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


def _why(status: int, said: Sequence[str]) -> str:
    if status == _SSH_FAILED or status < 0:
        return f"ssh: {said[-1] or 'no connection'}"
    if status == _NOT_FOUND:
        return "middlewatch is not found there: name its path with --command"
    if status == _NO_DAEMON:
        return f"the box answers, its daemon does not: {said[0]}"
    return f"status {status}: {said[-1]}"


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


class Calls:
    """Pushes that are to be sent from here, to the URLs and by the routes of this machine.

    They are sent by this process: a person waits in front of it, and it runs on a Mac as well. What no
    service took is tried again at the next look.
    """

    def __init__(self, urls: Sequence[str], config: Config) -> None:
        self._targets, self._config = targets(urls), config
        self._zone = zone_of(config.alerts.zone)
        self._waiting: list[tuple[Message, float, set[str]]] = []
        """Each message, when it was made, and who has it."""
        http_trace.install()

    def add(self, message: Message, now: float) -> None:
        """Send this as well."""
        self._waiting.append((message, now, set()))

    def send(self) -> list[str]:
        """Send what waits; why a URL did not take it, in its own words."""
        failed, ladder = [], self._config.alerts.mode == "ladder"
        for entry in list(self._waiting):
            message, made_at, took = entry
            rules = self._config.routes
            wanted = [o for o in self._targets if fits(o, message, rules, made_at, self._zone)]
            for one in wanted:
                if one.mark in took or (ladder and took):
                    continue
                error = self._call(message, one)
                if error:
                    failed.append(f"{one.label}: {error}")
                else:
                    took.add(one.mark)
            if (ladder and took) or all(one.mark in took for one in wanted):
                self._waiting.remove(entry)
        return failed

    def _call(self, message: Message, target: Target) -> str:
        """Push to one URL; the error, or nothing."""
        job = words_of(message, self._config.alerts)
        job |= {"id": target.mark, "url": target.url, "label": target.label}
        found: list[str] = []
        # In a thread, as a service may answer a byte a second.
        thread = threading.Thread(target=lambda: found.append(send(job)["error"]), daemon=True)
        thread.start()
        thread.join(SEND_S)
        return found[0] if found else f"it did not answer within {SEND_S:.0f} s"


def watchbox(args: argparse.Namespace) -> int:
    """Ask a box again and again, until Ctrl-C. Raises UsageError, and ConfigError when nobody can be told."""
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
    far = Far(check_name(args.host), args.command)
    try:
        first = far.look(clock.now())
    except NoAnswer as error:
        raise UsageError(
            f"{args.host} does not answer: {mask(str(error))}",
            f"try by hand: ssh {shlex.quote(args.host)} middlewatch status",
        ) from error
    calls, here = Calls(urls, config), config.alerts.host or os.uname().nodename
    watch = Watch(far, here, after_s, first, clock.monotonic())
    _say(args, watch, clock.now(), "", [])
    while True:
        clock.sleep(every_s)
        message = watch.look(clock)
        if message is not None:
            calls.add(message, clock.now())
        failed = calls.send()
        _say(args, watch, clock.now(), message.title if message else "", failed)


def _say(
    args: argparse.Namespace, watch: Watch, now: float, told: str, failed: Sequence[str]
) -> None:
    """One line for each look."""
    runs = {run: {"state": known[0], "step": known[1]} for run, known in watch.last.runs.items()}
    if args.json:
        facts = {"host": watch.far.host, "at": iso(now), "why": watch.why, "runs": runs}
        console.as_json(facts | {"pushed": told, "failed": list(failed)})
        return
    some = ", ".join(f"{run} {known['state']}" for run, known in runs.items()) or "no run"
    answer = f"no answer: {watch.why}" if watch.why else f"answers: {some}"
    console.say(f"{local(now, now)}  {watch.far.host}  {answer}")
    if told:
        console.say(f"push: {told}")
    for error in failed:
        console.complain(f"not pushed, tried again at the next look: {error}")
