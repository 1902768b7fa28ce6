"""Who watches a row: middlewatch itself, or one of its peers."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
from datetime import datetime
from typing import Any, Literal, Protocol

from middlewatch.daemon.system.errors import DaemonUnreachable

from ..fakes.box import Box, Push, Receiver
from .bench import Bench, Job, Subject
from .lab import Alarm, Severity


class Watcher(Protocol):
    """One watcher on one bench, from ``start`` to ``stop``; made anew for every row."""

    name: str

    def start(self, bench: Bench) -> None:
        """Begin, before the first job; ``lab.NotRun`` if this machine cannot run it."""

    def run(self, bench: Bench, job: Job) -> Subject:
        """Start a job and watch it: its own launcher, or ``bench.start_plainly``."""

    def alarms(self) -> list[Alarm]:
        """Everything told so far, in the order of arrival."""

    def stop(self) -> None:
        """End it and what belongs to it; called once, also after a failed start."""


LABELS: dict[str, Severity] = {
    "CRITICAL": "page",
    "FAILED": "page",
    "WARNING": "warning",
    "INFO": "note",
}
INCIDENT = re.compile(r"^Incident (\S+?)[:.]", re.MULTILINE)
STEP = re.compile(r"^First step(?: \(costly\))?: (.*)$", re.MULTILINE)
CORRECTED = re.compile(r"^Reported as (\S+) before; the cause is (\S+)\.$", re.MULTILINE)


class Middlewatch:
    """The daemon as it is shipped, with nothing configured but where to push to."""

    name = "middlewatch"

    def __init__(self) -> None:
        self._receiver = Receiver()
        self._box: Box | None = None
        self._incidents: list[dict[str, Any]] = []

    @property
    def box(self) -> Box:
        """Its state directory and daemon, for rows that do something to them."""
        assert self._box is not None
        return self._box

    def start(self, bench: Bench) -> None:
        """Start the daemon."""
        self._box = Box(bench.root, self._receiver, dict(bench.env))
        self._box.state = bench.state
        self._box.configure(_platform(bench))
        if bench.daemon_prefix:
            command = [*bench.daemon_prefix, sys.executable, "-m", "middlewatch.daemon", "start"]
            done = subprocess.run(
                command, env=self._box.env, cwd=bench.root, text=True, capture_output=True
            )
            if done.returncode:
                raise RuntimeError(done.stdout + done.stderr)
        else:
            self._box.command("start")

    def run(self, bench: Bench, job: Job) -> Subject:
        """``middlewatch run``, or ``watch`` for a job that has its own log."""
        if job.log is not None:
            subject = bench.start_plainly(job)
            bench.until(subject.log.exists, 30, f"{subject.log} is there")
            self.box.command("watch", "--pid", str(subject.pid), "--log", str(subject.log))
            return subject
        options = ["run", "--json", "--name", job.name]
        for folder in job.checkpoints:
            options += ["--checkpoints", str(folder)]
        if job.buffered:
            options.append("--keep-buffering")
        done = subprocess.run(
            [sys.executable, "-m", "middlewatch.daemon", *options, "--", *job.command],
            env={**job.env, **self._own()},
            cwd=job.cwd,
            text=True,
            capture_output=True,
            timeout=60,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)
        run = json.loads(done.stdout)["run"]
        status = bench.until(lambda: self.box.status(run), 20, "the run is known")
        pid = status["pid"] or json.loads(done.stdout).get("pid") or 0
        return Subject(job, pid, bench.state / "runs" / run / "output.log")

    def _own(self) -> dict[str, str]:
        return {k: v for k, v in self.box.env.items() if k.startswith("MIDDLEWATCH")}

    def alarms(self) -> list[Alarm]:
        """Pushes, and what was only written down."""
        incidents = {str(i["id"]): i for i in self._known()}
        pushes = list(self._receiver.pushes)
        told = [(p, _incident(p)) for p in pushes]
        alarms = [_alarm(p, incidents.get(i, {}), pushes) for p, i in told]
        pushed = {i for _, i in told}
        alarms += [_note(i) for i in incidents.values() if str(i["id"]) not in pushed]
        return sorted(alarms, key=lambda a: a.at)

    def _known(self) -> list[dict[str, Any]]:
        """All incidents; while no daemon answers, those of the last answer."""
        with contextlib.suppress(DaemonUnreachable, OSError, AssertionError):
            self._incidents = self.box.ask("incidents", all=True)
        return self._incidents

    def stop(self) -> None:
        """End the daemon and its runs."""
        try:
            if self._box is not None:
                self._box.close()
        finally:
            self._receiver.close()


def _platform(bench: Bench) -> str:
    """Small disks of memory stand for lasting ones; where the box has some is the owner's word."""
    if not bench.lasting:
        return ""
    return f"[platform]\nsurvives_destroy = {json.dumps([str(p) for p in bench.lasting])}\n"


def _incident(push: Push) -> str:
    found = INCIDENT.search(push.body)
    return found[1] if found else ""


def _alarm(push: Push, incident: dict[str, Any], pushes: list[Push]) -> Alarm:
    label = push.title[1:].partition("]")[0]
    severity: Severity | Literal["good"] = LABELS.get(label, "good")
    trouble = incident.get("class")
    corrected_to, corrected_at = None, 0.0
    for later in pushes:
        correction = CORRECTED.search(later.body)
        if correction is None or _incident(later) != _incident(push):
            continue
        if later is push:
            severity = LABELS.get(str(incident.get("severity", "")).upper(), "page")
            trouble = correction[2]
        elif later.at > push.at and corrected_to is None:
            trouble, corrected_to, corrected_at = correction[1], correction[2], later.at
    step = STEP.search(push.body)
    return Alarm(
        push.at,
        severity,
        push.title,
        push.body,
        trouble,
        step[1] if step else "",
        corrected_to,
        corrected_at,
    )


def _note(incident: dict[str, Any]) -> Alarm:
    opened = incident["opened_at"]
    at = opened if isinstance(opened, float) else datetime.fromisoformat(opened).timestamp()
    return Alarm(
        at,
        "note",
        str(incident["summary"]),
        "\n".join(str(e["text"]) for e in incident["evidence"]),
        str(incident["class"]),
        str((incident.get("remedy") or {}).get("first_step", "")),
    )
