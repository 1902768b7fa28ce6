"""What every peer has in common: a program of its own, a sink for its alarms, a table of words."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import shlex
import shutil
import signal
import socket
import string
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from ..bench import Bench, Job, Subject
from ..lab import Alarm, Fault, NotRun, Severity
from .sinks import Arrival, Sink

Style = Literal["default", "tuned"]
HERE = Path(__file__).parent
PROBE = HERE / "probe.sh"
SCRATCH = re.compile(rf"{re.escape(tempfile.gettempdir())}/[^/\s]+")
"""Anybody's scratch directory: how the alarm of a box-wide peer is given to its row."""

GROUP = re.compile(r"\bfaultlab-\d+-([0-9a-f]+)\b")
"""Anybody's cgroup, which ``Bench.cgroup`` calls after its own process and itself."""

SILENT_LOG_S = 120
"""Log age at which the tuned ones speak: twice the floor of middlewatch's own first look, in
a laboratory whose trainers print every second. A fixed limit is right for one run only; the
longest healthy silence in public logs is 17 minutes."""


@dataclass(frozen=True)
class Means:
    """What words in an alarm let a person conclude.

    ``fits`` are the classes the words agree with, the likeliest first; empty if they say
    nothing about a run (a busy box). ``severity`` replaces what the peer itself attached.
    ``box`` is about the whole box, which rows and other people share: no judgement of a run.
    """

    words: str
    fits: tuple[str, ...] = ()
    severity: Severity | Literal["good"] | None = None
    box: bool = False


@dataclass(frozen=True)
class PeerAlarm(Alarm):
    """An alarm whose free text may agree with more than one class."""

    fits: tuple[str, ...] = ()
    box: bool = False

    def for_row(self, fault: Fault) -> PeerAlarm:
        """The same with the reading that is kindest to the peer in this row."""
        right = [one for one in self.fits if one in fault.classes | fault.also]
        trouble = right[0] if right else self.trouble
        return dataclasses.replace(self, trouble=trouble)

    def names_run(self, name: str) -> bool:
        """The text says which run it is about."""
        return re.search(rf"\b{re.escape(name)}\b", f"{self.title}\n{self.body}") is not None


class Peer:
    """A watcher that is somebody else's program, in one of two configurations."""

    peer: ClassVar[str]
    install: ClassVar[str]
    """The command that brings it to this machine."""
    words: ClassVar[Sequence[Means]]
    """From its text to our classes; the first that is found counts."""
    claims: ClassVar[Mapping[Style, Mapping[str, str]]]
    """Classes it says it covers, each with where it says so; the others are not summed."""
    rule_s: ClassVar[Mapping[Style, Mapping[str, float]]]
    """How long its rules take at most from the trouble to the alarm, by class or, where a row
    needs longer to reach their limit, by the row's name; ``""`` for all others."""

    not_shown: ClassVar[frozenset[str]] = frozenset({"xid_79", "weight_bit_flip"})
    """Rows that do not show it what its claim is about, and so are not asked of it. Behind a real
    Xid 79 the card is gone, which is the row ``gpu_lost``; here only its message comes. A flipped
    bit may make the loss NaN, which peers claim, but makes it jump as a rule."""

    def __init__(self, style: Style) -> None:
        self.style = style
        self.name = f"{self.peer}-{style}"
        self.subjects: list[Subject] = []
        self.row: Fault | None = None
        """The row its alarms are read for, as kindly as their words allow; None for no row."""
        self._programs: list[subprocess.Popen[bytes]] = []
        self._sinks: list[Sink] = []
        self._bench: Bench | None = None

    # The protocol of a watcher

    def start(self, bench: Bench) -> None:
        """Everything that does not need to know the job."""
        self._bench = bench
        self.folder.mkdir(parents=True, exist_ok=True)
        missing = self.absent()
        if missing:
            raise NotRun(f"not installed: {', '.join(missing)}; {self.install}")
        if "FAKE_NVML_SCENARIO" in bench.env:
            self.give_nvidia_smi()
        self.begin()

    def run(self, bench: Bench, job: Job) -> Subject:
        """A job as its user starts it; then the peer is told of it."""
        subject = bench.start_plainly(job)
        self.join(subject)
        return subject

    def join(self, subject: Subject) -> None:
        """A job that runs already."""
        self.subjects.append(subject)
        self.pid_file(subject).write_text(f"{subject.pid}\n")
        self.watch(subject)

    def alarms(self) -> list[Alarm]:
        """All that arrived and is not about another row."""
        for subject in self.subjects:
            # A shell takes the status of what it started; monit would see a zombie otherwise.
            with contextlib.suppress(ChildProcessError):
                os.waitpid(subject.pid, os.WNOHANG)
        arrivals = [one for sink in self._sinks for one in list(sink.arrivals)]
        told = [a for one in arrivals for a in self.read(one) if not self.foreign(a)]
        if self.row is not None:
            told = [alarm.for_row(self.row) for alarm in told]
        return sorted(told, key=lambda a: a.at)

    def stop(self) -> None:
        """End the programs, the last one first."""
        for process in reversed(self._programs):
            end_session(process)
        for sink in self._sinks:
            sink.close()

    def absent(self) -> list[str]:
        """Programs it needs that are not on this machine."""
        return [one for one in self.needed() if shutil.which(one) is None]

    def ended(self) -> list[str]:
        """Its programs that are gone, though nobody asked them to."""
        return [f"exit status {p.returncode}" for p in self._programs if p.poll() is not None]

    # What a peer says about itself

    @classmethod
    def takes_s(cls, style: Style, fault: Fault) -> tuple[float, float] | None:
        """Its fastest and its slowest rule for this row; None if it does not
        claim it or cannot be shown it."""
        rules = cls.rule_s[style]
        asked = fault.classes & set(cls.claims[style])
        if not asked or fault.kind == "control" or fault.name in cls.not_shown:
            return None
        times = [rules.get(fault.name, rules.get(one, rules[""])) for one in asked]
        return min(times), max(times)

    def needed(self) -> Iterable[str]:
        """Programs that must be there."""
        return ()

    def begin(self) -> None:
        """Start what watches the box."""

    def watch(self, subject: Subject) -> None:
        """Tell it of a job."""

    def read(self, arrival: Arrival) -> Iterable[PeerAlarm]:
        """The alarms in one message."""
        raise NotImplementedError

    # What it may use

    @property
    def bench(self) -> Bench:
        """The bench of the row, once started."""
        assert self._bench is not None
        return self._bench

    @property
    def folder(self) -> Path:
        """Where all of its files lie."""
        return self.bench.root / self.name

    @property
    def env(self) -> dict[str, str]:
        """Our environment, that of the bench (its GPUs), and the tools of a box with GPUs."""
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        return {**os.environ, **self.bench.env, "PATH": path}

    def give_nvidia_smi(self) -> None:
        """What every box with GPUs has, answered by the double of its library."""
        tool = self.folder / "bin" / "nvidia-smi"
        tool.parent.mkdir(exist_ok=True)
        words = shlex.join([sys.executable, str(HERE / "nvidia_smi.py")])
        tool.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        tool.chmod(0o755)

    def pid_file(self, subject: Subject) -> Path:
        """Where the job's process id stands."""
        return self.folder / f"{subject.job.name}.pid"

    def saves(self, subject: Subject) -> list[Path]:
        """Folders whose disks matter to the job: a user knows what the command line names."""
        job = subject.job
        named = [Path(word) for word in job.command if word.startswith("/")]
        return [*job.checkpoints, *(one for one in named if one.is_dir())] or [job.cwd]

    def probe(self, subject: Subject) -> list[str]:
        """Command line of the script that the tuned configurations share."""
        saves = [str(folder) for folder in self.saves(subject)]
        words = ["/bin/sh", str(PROBE), subject.job.name, str(self.pid_file(subject))]
        return [*words, str(subject.log), *saves]

    def template(self, name: str, **values: object) -> str:
        """A configuration of this directory, filled in."""
        return string.Template((HERE / name).read_text()).substitute(values)

    def receive(self, sink: Sink) -> None:
        """Alarms arrive here."""
        self._sinks.append(sink)

    def launch(self, *command: str, env: Mapping[str, str] | None = None) -> None:
        """Start in the foreground, what it says into a file of the scratch directory.

        It ends with the thread of its row, also if nobody is left to stop it.
        """
        name = Path(command[0]).name
        leash = shutil.which("setpriv")
        if leash is not None:
            command = (leash, "--pdeathsig", "TERM", "--", *command)
        with (self.folder / f"{name}.out").open("ab") as out:
            process = subprocess.Popen(
                command,
                env=dict(env or self.env),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        self._programs.append(process)

    def told(
        self, at: float, title: str, body: str, severity: Severity | Literal["good"]
    ) -> PeerAlarm:
        """One alarm, read by the table of words."""
        text = f"{title}\n{body}"
        unknown = Means("", box=True)
        means = next((m for m in self.words if re.search(m.words, text, re.IGNORECASE)), unknown)
        trouble = means.fits[0] if means.fits else None
        severity = means.severity or severity
        return PeerAlarm(at, severity, title, body, trouble, fits=means.fits, box=means.box)

    def foreign(self, alarm: Alarm) -> bool:
        """It names somebody else's scratch directory and not that of this row."""
        named = SCRATCH.findall(f"{alarm.title}\n{alarm.body}")
        groups = GROUP.findall(f"{alarm.title}\n{alarm.body}")
        own = f"{id(self.bench):x}"
        return (bool(named) and str(self.bench.root) not in named) or (
            bool(groups) and own not in groups
        )


def end_session(process: subprocess.Popen[bytes]) -> None:
    """Ask a program to end, then make it, with all that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(8)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
