"""A box whose daemon is killed again and again, at random moments, while trainings run on it."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from middlewatch.daemon.system.errors import DaemonUnreachable

from ..fakes.box import COMMAND, PATIENCE_S, Box, Receiver, is_alive, notifier_of
from .truth import KINDS, Score, Training, judge, not_whole

TRAINER = str(Path(__file__).with_name("trainer.py"))
AT_ONCE = 3
"""Trainings that run at the same time."""
MOMENTS = ("any", "any", "any", "start", "push")
"""When the daemon is killed: at any moment of its life, while it starts, or as soon as a push arrives,
which is before it can know that."""
STARTING_S = (0.0, 0.4)
"""Seconds between its lock and its death, for one that is killed while it starts."""


@dataclass(frozen=True)
class Pace:
    """How long things last, in seconds where nothing else is said."""

    lives: tuple[float, float] = (0.02, 4.5)
    """Of a daemon after it answered for the first time, drawn evenly."""
    steps: tuple[int, int] = (400, 700)
    """Reports of a training."""
    pause: float = 0.05
    """Between two reports."""
    absent: tuple[float, ...] = (0.0, 0.0, 0.3, 2.0)
    """Without a daemon, drawn from these: sometimes a trouble begins while nobody watches."""
    quiet: float = 15.0
    """After all was told: a RESOLVED or a second page that must not come would come now."""
    kinds: tuple[str, ...] = KINDS
    """Of trainings, in turn."""
    victims: tuple[str, ...] = ("daemon",)
    """What is killed, drawn from these: ``daemon``, ``notifier`` or ``both``."""


EACH = ("daemon", "notifier", "both")
"""All victims."""


class Lane:
    """One state directory, its daemon, its trainings, and a receiver for the pushes."""

    def __init__(self, folder: Path, seed: int, pace: Pace | None = None) -> None:
        folder.mkdir(parents=True)
        self.pace = pace or Pace()
        self.chance = random.Random(seed)
        self.receiver = Receiver()
        self.box = Box(folder, self.receiver)
        # Warnings count as well, and reminders would be counted as pushes that come again.
        self.box.configure(
            "[alerts]\nrepeat_s = []\n"
            # Whoever runs this may have given it a time limit: that is no trouble of a training.
            "[sentinels.walltime_short]\nenabled = false\n"
        )
        self.trainings: list[Training] = []
        self._kinds: list[str] = []
        """Kinds of trainings that come next, in turn."""
        self.score = Score()
        self.lives: list[float] = []
        """When each daemon was started, epoch seconds."""
        self.notifier_deaths: list[float] = []
        """When a notifier was killed whose daemon lived on, epoch seconds."""

    def kill_often(self, times: int, enough: threading.Event | None = None) -> None:
        """Kill so often, and look after each death of a daemon; ``enough`` ends it earlier."""
        self.start()
        for _ in range(times):
            if self.score.all_kills >= times or (enough is not None and enough.is_set()):
                break
            # Not until so many run: where a start takes longer than a training, that is never.
            for _ in range(AT_ONCE - len(self._running())):
                self.begin()
            moment = self.chance.choice(MOMENTS)
            life_s = self.chance.uniform(*self.pace.lives)
            if moment == "push":
                self._wait_for_push(life_s)
            else:
                time.sleep(life_s)
            victim = self.chance.choice(self.pace.victims)
            if victim == "notifier" and self.kill_notifier():
                continue
            if victim == "both" and self._kill_child():
                self.score.kills_of_both += 1
            self._kill_and_look()
            if moment == "start":
                self._kill_while_it_starts()
            self.start()

    def _kill_and_look(self) -> None:
        self.kill()
        broken = not_whole(self.box.state)
        self.score.broken += [f"kill {self.score.kills}: {one}" for one in broken]
        time.sleep(self.chance.choice(self.pace.absent))

    def _wait_for_push(self, at_most_s: float) -> None:
        known, deadline = len(self.receiver.pushes), time.monotonic() + at_most_s
        while len(self.receiver.pushes) == known and time.monotonic() < deadline:
            time.sleep(0.002)

    def _kill_while_it_starts(self) -> None:
        self.lives.append(time.time())
        starter = self.box.spawn(
            *COMMAND, "start", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while not self._pid() and starter.poll() is None:
            time.sleep(0.002)
        time.sleep(self.chance.uniform(*STARTING_S))
        self._kill_and_look()
        # It starts another one if the first has died, or says that it could not: both are its task.
        starter.wait(PATIENCE_S)

    def start(self) -> None:
        """Start the daemon."""
        self.lives.append(time.time())
        done = self.box.command("start", check=False)
        if done.returncode:
            self.score.starts_failed += 1
            self.score.broken.append(f"start: {done.stdout}{done.stderr}")

    def kill(self) -> None:
        """``kill -9`` of the daemon, wherever it is just now; back when its notifier is gone as well, which
        could otherwise still send into the life of the next one."""
        pid = self._pid()
        if pid:
            going = [one for one in (pid, notifier_of(pid)) if one]
            os.kill(pid, signal.SIGKILL)
            self.score.kills += 1
            deadline = time.monotonic() + PATIENCE_S
            while any(map(is_alive, going)) and time.monotonic() < deadline:
                time.sleep(0.01)

    def kill_notifier(self) -> bool:
        """``kill -9`` of the child that pushes, if there is one; the daemon lives on."""
        if not self._kill_child():
            return False
        self.score.notifier_kills += 1
        self.notifier_deaths.append(time.time())
        return True

    def _kill_child(self) -> bool:
        daemon = self._pid()
        child = notifier_of(daemon) if daemon else None
        if child is None:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
            return True
        return False

    def _pid(self) -> int:
        """From its lock file: it may not answer yet."""
        with contextlib.suppress(OSError, ValueError, IndexError):
            pid = int((self.box.state / "middlewatch.lock").read_text().split()[0])
            # The file outlives the daemon, and its number may be another process by then.
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
            return pid if os.fsencode(self.box.state) in words and is_alive(pid) else 0
        return 0

    def begin(self) -> None:
        """One more training: started by us, or found while it runs."""
        number = len(self.trainings)
        if not self._kinds:
            self._kinds = self.chance.sample(self.pace.kinds, len(self.pace.kinds))
        trouble = self._kinds.pop()
        steps = self.chance.randint(*self.pace.steps)
        at = self.chance.randint(steps // 8, steps // 2)
        folder = self.box.root / f"train{number}"
        folder.mkdir()
        name = f"run-{number}"
        command = [sys.executable, TRAINER, "--trouble", trouble, "--at", str(at)]
        command += ["--steps", str(steps), "--pause", str(self.pace.pause)]
        command += ["--saves", str(folder / "saves")]
        if self.chance.random() < 0.5:
            told = self._command("run", "--json", "--name", name, "--", *command)
            run, pid = told["run"], told["pid"]
            log = self.box.state / "runs" / run / "output.log"
            self.trainings.append(Training(name, trouble, log, run, pid, True))
            return
        log = folder / "train.log"
        watched = folder / "watched"
        with log.open("wb") as out:
            process = self.box.spawn(*command, "--wait", str(watched), stdout=out, stderr=out)
        words = ("--pid", str(process.pid), "--log", str(log))
        told = self._command("watch", "--json", "--name", name, *words)
        watched.touch()
        self.trainings.append(Training(name, trouble, log, told[0]["run"], process.pid, False))

    def _command(self, *words: str) -> Any:
        return json.loads(self.box.command(*words).stdout)

    def _running(self) -> list[Training]:
        for process in self.box.started:
            process.poll()
        return [one for one in self.trainings if is_alive(one.pid)]

    def finish(self) -> Score:
        """Let all trainings end, give the watch time to say the rest, and judge it."""
        self._until(lambda: not self._running())
        self._until(lambda: all(self._status(one)["ended_at"] for one in self.trainings))
        self._until(lambda: self._judged().waits == [])
        time.sleep(self.pace.quiet)
        self.box.command("stop")
        self.score.add(self._judged())
        return self.score

    def _judged(self) -> Score:
        return judge(
            self.trainings,
            self._counted(),
            list(self.receiver.pushes),
            self.lives,
            self.notifier_deaths,
            self.box.docs("message"),
        )

    def _status(self, one: Training) -> dict[str, Any]:
        return self.box.status(one.id)

    def _counted(self) -> dict[str, int]:
        """Run id -> lines of its logs that the store says were read."""
        return {
            run: sum(_lines_before(tail) for tail in doc["tails"].values())
            for run, doc in self.box.docs("run").items()
        }

    def _until(self, true: Any) -> None:
        """Wait for it; what has not come by then is counted as what it is."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            with contextlib.suppress(DaemonUnreachable):
                if true():
                    return
            time.sleep(0.3)

    def close(self) -> None:
        """End everything."""
        for one in self.trainings:
            if is_alive(one.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(one.pid, signal.SIGKILL)
        self.box.close()
        self.receiver.close()


def _lines_before(tail: dict[str, Any]) -> int:
    """Lines that a reader has finished: its state names the line that comes next."""
    return int(tail["reader"]["cutter"]["number"]) - 1
