"""Play one scene on a box of its own: the job, what happens to it from outside, and what was told.

A scene is a folder with a ``scene.toml`` and the programs of a job, written by somebody who knows
what goes wrong and not how the rules judge it. The job runs in a copy of the folder, under the real
daemon, whose pushes arrive at a real HTTP receiver.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from middlewatch.daemon.system.errors import DaemonUnreachable

from ..fakes.box import COMMAND, Box, Push, Receiver

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

POLL_S = 0.25
LAST_WORDS_S = 12.0
"""Seconds after the end of a job in which the daemon may still judge its end: it reads the last
lines for 8 s (``watched_run.SETTLE_S``)."""


@dataclass(frozen=True)
class Scene:
    """What ``scene.toml`` says."""

    folder: Path
    data: dict[str, Any]

    @classmethod
    def read(cls, folder: Path) -> Scene:
        """Raises OSError or ValueError for a folder that is no scene."""
        return cls(folder, tomllib.loads((folder / "scene.toml").read_text(encoding="utf-8")))

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def healthy(self) -> bool:
        return bool(self.data["kind"] == "healthy")

    @property
    def truth(self) -> dict[str, Any]:
        truth: dict[str, Any] = self.data["truth"]
        return truth


@dataclass
class Play:
    """What happened in one scene; times are seconds since the job was started."""

    scene: Scene
    onset_s: float | None = None
    ended_s: float | None = None
    exit_code: int | None = None
    pushes: list[tuple[float, Push]] = field(default_factory=list)
    incidents: list[dict[str, Any]] = field(default_factory=list)
    runs: list[dict[str, Any]] = field(default_factory=list)
    output: str = ""
    error: str = ""
    """Why the scene could not be played; empty if it was."""


def play(scene: Scene, root: Path) -> Play:
    """Play a scene below ``root``; whatever it starts is gone afterwards."""
    done = Play(scene)
    home = root / scene.name
    shutil.copytree(scene.folder, home)
    with _box(root / "box") as box:
        if setup := scene.data.get("setup", ""):
            ready = _shell(setup, home)
            if ready.returncode:
                done.error = f"its setup failed: {ready.stderr.strip()[-300:]}"
                return done
        try:
            _Stage(scene, home, box, done).play()
        except (OSError, AssertionError, DaemonUnreachable) as error:
            done.error = f"{type(error).__name__}: {error}"[:2000]
        finally:
            _clear(home)
    return done


class _Stage:
    def __init__(self, scene: Scene, home: Path, box: Box, done: Play) -> None:
        self.scene, self.home, self.box, self.done = scene, home, box, done
        self.out = home / "OUT"
        self.log = home / scene.truth["log"] if "log" in scene.truth else self.out
        self.acts = list(scene.data.get("act", ()))
        self.acted: list[float] = []
        self.began = 0.0
        self.job: subprocess.Popen[bytes] | None = None
        self.run = ""
        self.watched_at: float | None = None
        """Seconds after the start; ``None`` while nobody watches the job yet."""

    def play(self) -> None:
        self.box.command("start")
        attach_at = float(self.scene.data.get("attach_after_s", 5))
        if self.scene.data["how"] == "attach":
            self._start_alone()
        else:
            self._start_watched()
            self.watched_at = 0.0
        self.began = time.time()
        seen = 0
        while (elapsed := time.time() - self.began) < self.scene.data["length_s"]:
            time.sleep(POLL_S)
            if self.watched_at is None and elapsed >= attach_at:
                self._attach()
                self.watched_at = time.time() - self.began
            self._look(elapsed)
            for push in self.box.receiver.pushes[seen:]:
                self.done.pushes.append((push.at - self.began, push))
                seen += 1
            ended = self.done.ended_s
            if ended is not None and elapsed > ended + LAST_WORDS_S:
                break
        self._collect(seen)

    def _start_alone(self) -> None:
        with self.out.open("wb") as out:
            self.job = self.box.spawn(
                "/bin/bash", "-c", self.scene.data["start"],
                cwd=self.home, stdout=out, stderr=subprocess.STDOUT,
            )  # fmt: skip

    def _start_watched(self) -> None:
        done = subprocess.run(
            [*COMMAND, "run", "--json", "--name", self.scene.name, "--",
             "/bin/bash", "-c", self.scene.data["start"]],
            env=self.box.env, cwd=self.home, text=True, capture_output=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        self.run = json.loads(done.stdout)["run"]
        self.out = self.box.state / "runs" / self.run / "output.log"
        if "log" not in self.scene.truth:
            self.log = self.out

    def _attach(self) -> None:
        assert self.job is not None
        # As a person does: whatever trains here, found by the command itself.
        done = subprocess.run(
            [*COMMAND, "watch", "--json"],
            env=self.box.env, cwd=self.home, text=True, capture_output=True, check=False,
        )  # fmt: skip
        self.done.output = (done.stdout + done.stderr)[-2000:]

    def _look(self, elapsed: float) -> None:
        text = _text(self.log) + ("" if self.log == self.out else _text(self.out))
        # What is done from outside is done to a job that is watched, however fast it was until then.
        for act in [] if self.watched_at is None else list(self.acts):
            kind, _, what = str(act["when"]).partition(":")
            due = what.strip() in text if kind == "line" else elapsed >= float(what)
            if not due:
                break
            self.acts.remove(act)
            self.acted.append(elapsed)
            _shell(act["do"], self.home)
        if self.done.onset_s is None:
            self.done.onset_s = self._onset(text, elapsed)
        if self.done.ended_s is None and self._is_over():
            self.done.ended_s = elapsed

    def _onset(self, text: str, elapsed: float) -> float | None:
        onset = str(self.scene.truth.get("onset", ""))
        if onset.startswith("act "):
            number = int(onset.split()[1])
            return self.acted[number - 1] if len(self.acted) >= number else None
        if onset.startswith("after:"):
            after = float(onset.partition(":")[2])
            return after if elapsed >= after else None
        return elapsed if onset and onset in text else None

    def _is_over(self) -> bool:
        if self.job is not None:
            self.done.exit_code = self.job.poll()
            return self.done.exit_code is not None and not _below(self.home)
        with contextlib.suppress(DaemonUnreachable, OSError):
            status = self.box.status(self.run)
            if status["exit"]:
                self.done.exit_code = status["exit"]["code"]
                return True
        return False

    def _collect(self, seen: int) -> None:
        onset = self.done.onset_s
        if onset is not None and (self.watched_at is None or onset < self.watched_at):
            self.done.error = "its trouble came before it was watched"
        for push in self.box.receiver.pushes[seen:]:
            self.done.pushes.append((push.at - self.began, push))
        self.done.incidents = self.box.ask("incidents", all=True)
        self.done.runs = self.box.ask("runs")
        self.done.output += _text(self.out)[-4000:]


def _shell(command: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run it. What it leaves in the background may hold its output open: that goes to a file, not to a pipe."""
    with tempfile.TemporaryFile("w+") as out:
        done = subprocess.run(
            ["/bin/bash", "-c", command.replace("{dir}", str(home))],
            cwd=home, text=True, stdout=out, stderr=out, check=False, timeout=60,
        )  # fmt: skip
        out.seek(0)
        done.stderr = out.read()
    return done


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _below(home: Path) -> list[int]:
    """Processes whose working directory lies in the scene."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            with contextlib.suppress(OSError):
                if Path(os.readlink(f"/proc/{entry}/cwd")).is_relative_to(home):
                    found.append(int(entry))
    return found


def _clear(home: Path) -> None:
    """End what still works in the folder, and take away what is mounted there."""
    for _ in range(20):
        left = _below(home)
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if not left:
            break
        time.sleep(0.1)
    for mount in sorted(_mounts(home), reverse=True):
        subprocess.run(["umount", "--lazy", mount], check=False, capture_output=True)


def _mounts(home: Path) -> list[str]:
    lines = Path("/proc/self/mounts").read_text().splitlines()
    return [m for line in lines if (m := line.split()[1]).startswith(f"{home}/")]


@contextlib.contextmanager
def _box(root: Path) -> Iterator[Box]:
    root.mkdir(parents=True)
    receiver = Receiver()
    box = Box(root, receiver)
    box.configure("")
    box.extra_env["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    try:
        yield box
    finally:
        box.close()
        receiver.close()
