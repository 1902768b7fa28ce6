"""A scratch place for one row: its processes, disks, cgroups and GPUs, all taken away again."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest

from ..fakes.box import end
from ..fakes.nvml_library import NvmlDouble, build
from .lab import INTERRUPTED, NotRun

if TYPE_CHECKING:
    from .watchers import Watcher

PROGRAMS = Path(__file__).with_name("programs")
ROOT = Path(__file__).parents[2]
Value = TypeVar("Value")


@dataclass(frozen=True)
class Job:
    """What a row wants to be run and watched, before it runs."""

    command: tuple[str, ...]
    name: str
    cwd: Path
    env: Mapping[str, str]
    checkpoints: tuple[Path, ...] = ()
    buffered: bool = False
    """Its output is block-buffered, as Python's is without ``-u``."""
    log: Path | None = None
    """Where it writes its log itself; nobody can launch it, only watch it."""


@dataclass(frozen=True)
class Subject:
    """A running job: what any watcher can be told about it."""

    job: Job
    pid: int
    log: Path


class Bench:
    """One row's place. ``random`` is seeded by row and repeat."""

    def __init__(
        self, root: Path, watcher: Watcher, seed: str, stop: threading.Event | None = None
    ) -> None:
        self._stop = stop or threading.Event()
        self.root = root
        self.watcher = watcher
        self.random = random.Random(seed)
        self.subjects: list[Subject] = []
        self.env: dict[str, str] = {}
        """Added to the environment of the watcher and of every job."""
        self.daemon_prefix: tuple[str, ...] = ()
        """Put before the command that starts the watcher."""
        self.state = root / "state"
        """Where the watcher keeps what it keeps; a row may put a small disk there."""
        self.lasting: list[Path] = []
        """Small disks that stand for lasting ones: the watcher is told so."""
        self._started: list[subprocess.Popen[bytes]] = []
        self._undo: list[Callable[[], object]] = []
        self._stamp = root / "injected"

    # What runs

    def program(self, name: str, *words: object) -> tuple[str, ...]:
        """Command line of one of the laboratory's programs."""
        return (sys.executable, str(PROGRAMS / f"{name}.py"), *(str(w) for w in words))

    def train(
        self,
        *command: str,
        name: str = "gpt",
        checkpoints: Sequence[Path] = (),
        env: Mapping[str, str] | None = None,
        buffered: bool = False,
        cwd: Path | None = None,
        log: Path | None = None,
    ) -> Subject:
        """Start a job under the watcher."""
        if not self.subjects:
            self.watcher.start(self)
        job = Job(
            command,
            name,
            cwd or self.root,
            {**self.job_env(), **(env or {})},
            tuple(checkpoints),
            buffered,
            log,
        )
        subject = self.watcher.run(self, job)
        self.subjects.append(subject)
        return subject

    def job_env(self) -> dict[str, str]:
        """Environment of jobs: nothing of a watcher, one thread for torch."""
        env = {k: v for k, v in os.environ.items() if not k.startswith("MIDDLEWATCH")}
        env.pop("PYTHONUNBUFFERED", None)
        more = {
            "FAULTLAB_INJECTED": str(self._stamp),
            "PYTHONPATH": str(ROOT),
            "OMP_NUM_THREADS": "1",
        }
        return {**env, **more, **self.env}

    def start_plainly(self, job: Job) -> Subject:
        """A job of its own session with its output in a file, for watchers without a launcher."""
        env = dict(job.env) if job.buffered else {**job.env, "PYTHONUNBUFFERED": "1"}
        log = job.log or self.root / f"{job.name}.log"
        with Path(os.devnull if job.log else log).open("wb") as out:
            process = self.spawn(*job.command, env=env, cwd=job.cwd, stdout=out, stderr=out)
        return Subject(job, process.pid, log)

    def spawn(
        self,
        *command: str,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        stdout: object = None,
        stderr: object = None,
    ) -> subprocess.Popen[bytes]:
        """A process beside the job, ended with the bench."""
        process = subprocess.Popen(
            command,
            env=dict(env or self.job_env()),
            cwd=cwd or self.root,
            stdin=subprocess.DEVNULL,
            stdout=stdout,  # type: ignore[call-overload]
            stderr=stderr,
            start_new_session=True,
        )
        assert isinstance(process, subprocess.Popen)
        self._started.append(process)
        return process

    # When the trouble begins

    def inject(self, action: Callable[[], object]) -> None:
        """Do it, and note when; for trouble that comes from outside of the program."""
        at = time.monotonic()
        action()
        self.stamp(at)

    def stamp(self, at: float) -> None:
        """The trouble began at this monotonic time."""
        fresh = self._stamp.with_suffix(".fresh")
        fresh.write_text(repr(at))
        fresh.rename(self._stamp)

    def injected(self) -> float | None:
        """When the trouble began, as the program reported it."""
        return _stamped(self._stamp)

    def too_late(self) -> float | None:
        """When the program said that it is too late, if it did."""
        return _stamped(Path(f"{self._stamp}.late"))

    def until(self, what: Callable[[], Value | None], timeout_s: float, why: str) -> Value:
        """Poll until it is true."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            value = what()
            if value:
                return value
            self.pause(0.1)
        raise TimeoutError(f"not within {timeout_s:g} s: {why}")

    def pause(self, seconds: float) -> None:
        """Let some time go by; ``NotRun`` when everything is to end."""
        if self._stop.wait(seconds):
            raise NotRun(INTERRUPTED)

    def until_said(self, words: str, timeout_s: float = 60.0, which: int = 0) -> None:
        """Wait until a job's log holds these words."""
        log = self.subjects[which].log
        self.until(lambda: words in _text(log), timeout_s, f"{words!r} in {log}")

    # What a box is made of

    def cgroup(self, controller: str, **settings: str) -> Path:
        """A cgroup (version 1) of its own, with these files written."""
        base = Path("/sys/fs/cgroup") / controller
        if os.geteuid() != 0 or not (base / "cgroup.procs").exists():
            raise NotRun(f"no cgroup controller {controller} can be used here")
        folder = base / f"faultlab-{os.getpid()}-{id(self):x}"
        try:
            folder.mkdir()
            self._undo.append(lambda: _remove_cgroup(folder))
            for file, value in settings.items():
                (folder / file.replace("__", ".")).write_text(value)
        except OSError as error:
            raise NotRun(f"a cgroup cannot be made: {error}") from error
        return folder

    def tmpfs(self, options: str, at: Path | None = None, *, lasting: bool = True) -> Path:
        """A small disk. It is made of memory, and stands for a lasting one unless told."""
        folder = at or self.root / f"disk{len(self._undo)}"
        folder.mkdir(exist_ok=True)
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)],
            capture_output=True,
            check=False,
        )
        if done.returncode:
            raise NotRun(f"cannot mount a tmpfs: {done.stderr.decode().strip()}")
        self._undo.append(lambda: subprocess.run(["umount", "-l", str(folder)], check=False))
        if lasting:
            self.lasting.append(folder)
        return folder

    def undo(self, action: Callable[[], object]) -> None:
        """Something to be taken away in the end."""
        self._undo.append(action)

    def gpus(self) -> NvmlDouble:
        """Two H100 at the C ABI of their library, for the watcher and every job."""
        try:
            library = build(Path(tempfile.gettempdir()) / f"faultlab-nvml-{os.getuid()}")
        except pytest.skip.Exception as error:
            raise NotRun(str(error)) from error
        double = NvmlDouble(library, self.root)
        double.scenario(double.stored("two_h100"))
        self.env.update(double.env)
        return double

    def end(self) -> None:
        """End everything that was started here."""
        with contextlib.suppress(Exception):
            self.watcher.stop()
        for subject in self.subjects:
            end(subject.pid)
        for process in self._started:
            end(process.pid)
            process.wait()

    def close(self) -> None:
        """Both."""
        self.end()
        self.clean()

    def clean(self) -> None:
        """Take the small disks and cgroups away."""
        for undo in reversed(self._undo):
            with contextlib.suppress(OSError):
                undo()


def inside(cgroup: Path, command: Sequence[str]) -> tuple[str, ...]:
    """A command that runs in a cgroup."""
    return ("/bin/sh", "-c", f'echo $$ > {cgroup}/cgroup.procs; exec "$@"', "sh", *command)


def _stamped(path: Path) -> float | None:
    """A monotonic time that a program left, as epoch seconds."""
    try:
        return float(path.read_text()) + time.time() - time.monotonic()
    except (OSError, ValueError):
        return None


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _remove_cgroup(folder: Path) -> None:
    for _ in range(50):
        for pid in (folder / "cgroup.procs").read_text().split():
            end(int(pid))
        with contextlib.suppress(OSError):
            folder.rmdir()
            return
        time.sleep(0.1)
