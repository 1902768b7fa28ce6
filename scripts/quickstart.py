"""The quickstart: a real training run goes wrong under watch, and the alert arrives.

Installs middlewatch into a virtual environment of its own, starts a receiver for pushes on
this machine, launches ``toy_trainer.py`` with ``middlewatch run``, lets its learning rate be
raised until the loss is NaN, and shows what arrives. With ``$MIDDLEWATCH_ALERT_URLS`` the person
gets the same pushes. Everything lies in one folder (``.quickstart``), the environment elsewhere
with ``--keep``, and no process is left behind. ``scripts/quickstart`` finds the Python.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import queue
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import venv
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import TextIO

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.receiver import LOSS, PUSHED_NAN, Log, Push, Receiver  # noqa: E402
from scripts.sources import copy_sources, fingerprint  # noqa: E402

TRAINER = ROOT / "scripts" / "toy_trainer.py"
STEPS = 4000
SAVE_EVERY = 100
RAISE_AT = 390
STATUS_AT = 330
PACE_S = 0.05
"""Sleep of the trainer after a step: about 18 steps a second, so that a person can follow."""

KEPT = Path("~/.middlewatch")
"""Where ``--keep`` puts the environment: as the README does."""
UNFINISHED = "not finished"
PIP_PATIENCE = {"PIP_RETRIES": "1", "PIP_DEFAULT_TIMEOUT": "15"}
"""Pip alone tries every package five times, for minutes; a person who waits wants to know."""
NO_INDEX = re.compile(
    r"NewConnectionError|NameResolutionError|ConnectTimeout|ReadTimeout|ProxyError|SSLError"
    r"|Max retries exceeded|Could not fetch URL|Could not find a version|No matching distribution"
    r"|Temporary failure in name resolution|Connection (?:refused|reset|broken|timed out)"
)
"""What pip says, in one of these words, when no index has answered."""


class Failed(Exception):
    """A stage did not do what it should; the text is for a person."""


class Interrupted(BaseException):
    """SIGINT, SIGTERM or SIGHUP arrived."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Screen:
    """Prints; colours only on a terminal that wants them."""

    def __init__(self, out: TextIO) -> None:
        self.out = out
        self.live = out.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self.coloured = self.live and "NO_COLOR" not in os.environ

    def paint(self, text: str, code: str) -> str:
        """``text`` in the colour of an SGR ``code``."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.coloured else text

    def line(self, text: str = "") -> None:
        """One line."""
        print(text, file=self.out, flush=True)

    def stage(self, number: int, text: str) -> None:
        """The head of a stage."""
        self.line()
        self.line(self.paint(f"[{number}/5] {text}", "1"))

    def note(self, text: str) -> None:
        """A line below the head of a stage."""
        self.line(f"      {text}")

    def quote(self, text: str) -> None:
        """Somebody else's words, set off by a bar."""
        bar = self.paint("│", "2")
        for line in text.rstrip("\n").splitlines():
            self.line(f"      {bar} {line}".rstrip())

    @contextlib.contextmanager
    def busy(self, text: str) -> Iterator[None]:
        """Count the seconds beside ``text`` while the block runs (on a terminal)."""
        begun = time.perf_counter()
        done = threading.Event()

        def count() -> None:
            while not done.wait(1.0):
                print(
                    f"\r      {text} … {time.perf_counter() - begun:.0f} s", end="", file=self.out
                )
                self.out.flush()

        counter = threading.Thread(target=count, daemon=True)
        if self.live:
            counter.start()
        else:
            self.note(f"{text} …")
        try:
            yield
        finally:
            done.set()
            if self.live:
                counter.join()
                print("\r\x1b[K", end="", file=self.out)
        self.note(f"{text}: {time.perf_counter() - begun:.1f} s")


class Quickstart:
    """The stages, and everything they leave to be cleared away."""

    def __init__(self, screen: Screen, folder: Path, asked: argparse.Namespace) -> None:
        self.screen = screen
        self.folder = folder
        self.keep: Path | None = asked.keep and asked.keep.expanduser().absolute()
        self.wheelhouse: Path | None = asked.wheelhouse and asked.wheelhouse.absolute()
        self.installed: bool = asked.installed
        self.own_urls = os.environ.get("MIDDLEWATCH_ALERT_URLS", "").strip(" ,")
        self.home = self.keep or folder / "venv"
        self.work = folder / "run"
        self.log = self.work / "train.log"
        self.state = folder / "state"
        self.borrowed: Path | None = None
        # Unix socket addresses hold 107 bytes.
        if len(os.fsencode(self.state / "middlewatch.sock")) > 100:
            self.borrowed = Path(tempfile.mkdtemp(prefix="middlewatch-"))
            self.state = self.borrowed
        self.middlewatch = str(Path(sys.executable).with_name("middlewatch"))
        self.receiver: Receiver | None = None
        self.stage = "start"

    # ------------------------------------------------------------------ the stages

    def play(self) -> None:
        """All stages in order. Raises Failed."""
        begun = time.perf_counter()
        self._enter(1, "install", f"middlewatch into {self._short(self.home)}")
        self._install()
        self._enter(2, "launch", "a real training run, detached and under watch")
        self._launch()
        self._enter(3, "follow", f"the run; at step {RAISE_AT} its learning rate is raised")
        nan_at, nan_line = self._follow()
        self._enter(4, "alert", "the push to the phone (here: a receiver on this machine)")
        push = self._await_push(nan_at)
        self._show(push)
        self._enter(5, "stop", "stop the run and the daemon")
        self._stop()
        self.screen.line()
        self.screen.line(
            self.screen.paint(
                f"From the line `{nan_line}` to the push: {push.at - nan_at:.1f} s."
                f" All together: {time.perf_counter() - begun:.0f} s.",
                "1;32",
            )
        )
        self._say_next()

    def _say_next(self) -> None:
        """What is left here, and the way to a training of the person's own."""
        what = f"All but the environment, {self.keep}," if self.keep else "Everything"
        lines = [f"{what} lies in {self._short(self.folder)}; delete it when you like.", ""]
        if self.keep:
            lines += [
                "Next, for your own training:",
                f"  export PATH={shlex.quote(f'{self.keep}/bin')}:$PATH",
            ]
            command = "middlewatch"
        elif self.installed:
            lines += ["Next, for your own training:"]
            command = shlex.quote(self._short(Path(self.middlewatch)))
        else:
            lines += [
                "Next, for your own training, in an environment that is kept (~/.middlewatch):"
            ]
            lines += ["  scripts/quickstart --keep"]
            lines += ["or as it is:"]
            command = shlex.quote(self._short(Path(self.middlewatch)))
        lines += [f"  {command} setup                     # your phone, copies, start with the box"]
        lines += [f"  {command} run -- python train.py    # or, for one that runs already: watch"]
        for line in lines:
            self.screen.line(line)

    def _enter(self, number: int, stage: str, text: str) -> None:
        self.stage = stage
        self.screen.stage(number, f"{stage.capitalize()}: {text}")

    def _install(self) -> None:
        if self.installed:
            self.screen.note(f"using {self.middlewatch}")
            return
        home = self.home
        self.middlewatch = str(home / "bin" / "middlewatch")
        stamp, want = home / ".installed", f"{fingerprint()} {self.wheelhouse or ''}"
        if stamp.is_file() and stamp.read_text() == want:
            self.screen.note("already there, and up to date")
            return
        if self.keep and home.exists() and not stamp.is_file() and any(home.iterdir()):
            raise Failed(f"{home} is there and was not made by --keep: name another folder")
        home.mkdir(parents=True, exist_ok=True)
        stamp.write_text(UNFINISHED)
        with self.screen.busy("virtual environment"):
            venv.create(home, clear=not self.keep, with_pip=True)
        stamp.write_text(UNFINISHED)
        source = self.folder / "source"
        if self.wheelhouse:
            what = ["--no-index", "--find-links", str(self.wheelhouse), "middlewatch"]
        else:
            copy_sources(source)
            what = [str(source)]
        with self.screen.busy(
            "pip install middlewatch (psutil, nvidia-ml-py, apprise, textual, …)"
        ):
            pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet"]
            pip += ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
            answer = subprocess.run(
                [*pip, *what],
                env=PIP_PATIENCE | dict(os.environ),
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
            )
        shutil.rmtree(source, ignore_errors=True)
        if answer.returncode:
            raise self._pip_failed(answer)
        stamp.write_text(want)

    def _pip_failed(self, answer: subprocess.CompletedProcess[str]) -> Failed:
        """One sentence where no package index was reached; else what pip said."""
        log = self.folder / "pip.log"
        log.write_text(answer.stdout + answer.stderr, encoding="utf-8", errors="replace")
        if not self.wheelhouse and NO_INDEX.search(answer.stderr):
            return Failed(
                "pip reached no package index from this box: set PIP_INDEX_URL to one that it can reach, "
                "https_proxy (and http_proxy) where there is a proxy, or bring the packages along "
                f"(scripts/wheelhouse, --wheelhouse). What pip said is in {self._short(log)}."
            )
        return Failed(f"pip failed with exit code {answer.returncode}:\n{answer.stderr.strip()}")

    def _launch(self) -> None:
        for leftover in (self.work, self.state):
            shutil.rmtree(leftover, ignore_errors=True)
            leftover.mkdir(parents=True, mode=0o700)
        # All that are named get every push: the receiver, and the person's own phone.
        (self.work / "config.toml").write_text('[alerts]\nmode = "all"\n')
        self.receiver = Receiver()
        beside = ", and to those of your $MIDDLEWATCH_ALERT_URLS" if self.own_urls else ""
        self.screen.note(f"alerts go to {self.receiver.url}{beside}")
        train = [sys.executable, str(TRAINER), "--steps", str(STEPS), "--sleep", str(PACE_S)]
        train += ["--save-every", str(SAVE_EVERY), "--out", str(self.work / "checkpoints")]
        train += ["--raise-lr-at", str(RAISE_AT)]
        self._command(
            *["run", "--name", "quickstart", "--via", "setsid", "--log", str(self.log)],
            *["--checkpoints", str(self.work / "checkpoints"), "--", *train],
            fine=(0,),
        )

    def _follow(self) -> tuple[float, str]:
        """Show the log until the loss is no number; that instant, and the line."""
        log = Log(self.log)
        shown = asked = False
        deadline = time.perf_counter() + 90.0
        while time.perf_counter() < deadline:
            lines, seen = log.lines(), time.perf_counter()
            for line in lines:
                match = LOSS.match(line)
                if not match:
                    if not line.startswith("vocab"):
                        self.screen.note(line)
                    continue
                step, loss = int(match[1]), match[2]
                if loss in ("nan", "inf", "-inf"):
                    self.screen.note(self.screen.paint(line, "31"))
                    return seen, f"iter {step}: loss {loss}"
                if step % 50 == 0 or step >= RAISE_AT:
                    self.screen.note(line)
                    shown = True
                if step >= STATUS_AT and not asked:
                    asked = True
                    self._command("status", fine=(0, 1))
            if not self._trainers():
                raise Failed("the training process ended before its loss became NaN")
            time.sleep(0.01)
        told = "came to no NaN" if shown else "wrote nothing to its log"
        raise Failed(f"the training run {told} within 90 s")

    def _await_push(self, nan_at: float) -> Push:
        assert self.receiver
        deadline = time.perf_counter() + 60.0
        while (left := deadline - time.perf_counter()) > 0:
            try:
                push = self.receiver.pushes.get(timeout=left)
            except queue.Empty:
                break
            if PUSHED_NAN.search(push.title) and push.at >= nan_at - 1.0:
                self.screen.note(f"arrived {max(0.0, push.at - nan_at):.1f} s after the line")
                return push
            self.screen.note(f"another push: {push.title}")
        raise Failed("no push about the NaN arrived within 60 s")

    def _show(self, push: Push) -> None:
        self.screen.line()
        self.screen.quote(f"{self.screen.paint(push.title, '1')}\n\n{push.body}")
        page = self._status_page()
        self.screen.line()
        self.screen.note(f"the status page, {self._short(page)}:")
        self.screen.quote(page.read_text(encoding="utf-8"))
        self.screen.line()
        self._command("incidents", fine=(0, 1))
        if self.own_urls:
            self._command("alert", "test", fine=(0, 1))

    def _status_page(self) -> Path:
        """The page of the run, once it knows of the NaN."""
        deadline = time.perf_counter() + 10.0
        while True:
            for page in (self.state / "runs").glob("*/training_status.md"):
                if PUSHED_NAN.search(page.read_text(encoding="utf-8")):
                    return page
            if time.perf_counter() > deadline:
                raise Failed("training_status.md does not speak of the NaN")
            time.sleep(0.05)

    def _stop(self) -> None:
        for pid in self._trainers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        _await(lambda: not self._trainers(), 10.0, "the training process ignores SIGTERM")
        self._command("stop", fine=(0,))
        _await(
            lambda: not self._processes(),
            10.0,
            lambda: f"still running after `middlewatch stop`: {self._processes()}",
        )
        self.screen.note("no process is left")

    # ------------------------------------------------------------------ what they need

    def _command(self, *words: str, fine: tuple[int, ...]) -> None:
        """Run ``middlewatch WORDS`` and show the command with its output."""
        shown = " ".join(shlex.quote(self._short(Path(w)) if "/" in w else w) for w in words)
        self.screen.note(self.screen.paint(f"$ middlewatch {shown}", "36"))
        try:
            answer = subprocess.run(
                [self.middlewatch, *words],
                cwd=self.work,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=60,
                check=False,
            )
        except FileNotFoundError as error:
            raise Failed(f"there is no {self.middlewatch}") from error
        except subprocess.TimeoutExpired as error:
            raise Failed(f"`middlewatch {words[0]}` gave no answer within 60 s") from error
        self.screen.quote(answer.stdout)
        if answer.returncode not in fine:
            told = answer.stderr.strip()[-4000:]
            raise Failed(f"`middlewatch {words[0]}` ended with code {answer.returncode}:\n{told}")

    def _environment(self) -> dict[str, str]:
        """Ours, without the person's own middlewatch and without proxies to loopback."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith("MIDDLEWATCH_")}
        kept.pop("NOTIFY_SOCKET", None)
        loopback = "127.0.0.1,localhost"
        return kept | {
            "MIDDLEWATCH_STATE_DIR": str(self.state),
            "MIDDLEWATCH_CONFIG": str(self.work / "config.toml"),
            "MIDDLEWATCH_ALERT_URLS": ",".join(
                filter(None, (self.receiver.url if self.receiver else "", self.own_urls))
            ),
            "NO_PROXY": loopback,
            "no_proxy": loopback,
        }

    def _processes(self) -> dict[int, list[str]]:
        """What runs with our state directory in its environment: pid and command line."""
        mark = b"MIDDLEWATCH_STATE_DIR=" + os.fsencode(self.state)
        found = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            with contextlib.suppress(OSError):
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    words = os.fsdecode((entry / "cmdline").read_bytes()).split("\0")
                    if any(words):  # a zombie has no command line
                        found[int(entry.name)] = words
        return found

    def _trainers(self) -> list[int]:
        # The supervisor of the run names the trainer as well, but not as its own program.
        return [pid for pid, words in self._processes().items() if words[1:2] == [str(TRAINER)]]

    def clear(self) -> None:
        """End every process that is left, whatever stage was reached. Safe to call twice."""
        for number, patience_s in ((signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)):
            left = self._processes()
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            with contextlib.suppress(Failed):
                _await(lambda: not self._processes(), patience_s, "")
        if self.receiver:
            self.receiver.close()
            self.receiver = None
        if self.borrowed:
            shutil.rmtree(self.borrowed, ignore_errors=True)

    def explain(self, problem: str) -> None:
        """Say which stage failed, why, and what the daemon said last."""
        self.screen.line()
        self.screen.line(self.screen.paint(f"FAILED in stage `{self.stage}`: {problem}", "1;31"))
        for name, path in (("daemon", self.state / "daemon.log"), ("training", self.log)):
            with contextlib.suppress(OSError):
                tail = path.read_text(encoding="utf-8", errors="replace").splitlines()[-25:]
                self.screen.note(f"the end of the {name} log, {self._short(path)}:")
                self.screen.quote("\n".join(tail))

    def _short(self, path: Path) -> str:
        """Relative to the current folder where that is shorter to read."""
        with contextlib.suppress(ValueError):
            return str(path.relative_to(Path.cwd()))
        return str(path)


def _await(done: Callable[[], bool], patience_s: float, otherwise: str | Callable[[], str]) -> None:
    deadline = time.perf_counter() + patience_s
    while not done():
        if time.perf_counter() > deadline:
            raise Failed(otherwise if isinstance(otherwise, str) else otherwise())
        time.sleep(0.02)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise Interrupted(number)


def main() -> int:
    """0 when everything arrived, 1 when a stage failed, 128 + signal when interrupted."""
    parser = argparse.ArgumentParser(
        prog="scripts/quickstart",
        description="A real training run goes wrong under watch, and the alert arrives.",
        epilog="example: scripts/quickstart --keep",
    )
    parser.add_argument(
        "--folder", type=Path, default=ROOT / ".quickstart", help="where (default .quickstart)"
    )
    parser.add_argument(
        "--installed", action="store_true", help="use the middlewatch of this Python; no pip"
    )
    parser.add_argument(
        "--keep",
        nargs="?",
        type=Path,
        const=KEPT,
        metavar="DIR",
        help=f"install into DIR (default {KEPT}), to be used afterwards",
    )
    parser.add_argument(
        "--wheelhouse", type=Path, metavar="DIR", help="install from the wheels in DIR: no network"
    )
    asked = parser.parse_args()
    if asked.keep and asked.installed:
        parser.error("--keep installs, --installed does not")
    folder = asked.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"another quickstart is at work in {folder}", file=sys.stderr)
            return 1
        return _play(Quickstart(Screen(sys.stdout), folder, asked))


def _play(quickstart: Quickstart) -> int:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        quickstart.clear()  # what a killed quickstart may have left
        quickstart.play()
    except Failed as problem:
        quickstart.explain(str(problem))
        return 1
    except Interrupted as stop:
        quickstart.screen.line()
        quickstart.screen.line("interrupted; stopping the run and the daemon")
        return 128 + stop.number
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        quickstart.clear()
    return 0


if __name__ == "__main__":
    sys.exit(main())
