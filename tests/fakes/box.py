"""A box with the real daemon, real processes and a real HTTP receiver.

Pushes arrive behind an Apprise ``json://`` URL; what counts is what arrived there, what
the daemon answers, and what lies in its files.
"""

from __future__ import annotations

import base64
import contextlib
import http.server
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from middlewatch.daemon.client import Client
from middlewatch.daemon.report.notifier import NOTIFIER_ARGV
from middlewatch.daemon.system.errors import DaemonUnreachable
from middlewatch.daemon.system.processes import Processes

COMMAND = [sys.executable, "-m", "middlewatch.daemon"]
PATIENCE_S = 180.0
"""Until something that never comes is given up; no test is judged by how long a thing took."""


@dataclass
class Push:
    """One push as it arrived."""

    at: float
    title: str
    body: str
    kind: str
    files: dict[str, bytes] = field(default_factory=dict)
    key: str = ""
    """By which a receiver knows a message again that comes twice."""
    orphan: bool = False
    """Who sent it was gone when it was read: a receiver on a busy box is late."""


class Receiver:
    """An HTTP server on loopback that keeps what Apprise posts to it."""

    def __init__(self) -> None:
        self.pushes: list[Push] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                data = json.loads(self.rfile.read(int(self.headers["content-length"])))
                words = data["title"], data["message"], data.get("type", "")
                sent = data.get("attachments") or ()
                files = {one["filename"]: base64.b64decode(one["base64"]) for one in sent}
                key = self.headers.get("Idempotency-Key", "")
                outer.pushes.append(Push(time.time(), *words, files, key, self._is_orphan()))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def _is_orphan(self) -> bool:
                """Whether the other end is closed: one that waits for our answer has it open."""
                try:
                    return not self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
                except BlockingIOError:
                    return False
                except OSError:
                    return True

            def log_message(self, *args: object) -> None:
                return

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"json://127.0.0.1:{self._server.server_port}/"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@dataclass
class Box:
    """One state directory with its daemon, and the processes a test starts."""

    root: Path
    receiver: Receiver
    extra_env: dict[str, str] = field(default_factory=dict)
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)
    state: Path = Path()

    def __post_init__(self) -> None:
        self.state = self.root / "state"

    @property
    def env(self) -> dict[str, str]:
        env = {k: v for k, v in os.environ.items() if not k.startswith("MIDDLEWATCH")}
        env.pop("PYTHONUNBUFFERED", None)
        return {
            **env,
            "MIDDLEWATCH_STATE_DIR": str(self.state),
            "MIDDLEWATCH_CONFIG": str(self.root / "config.toml"),
            "MIDDLEWATCH_ALERT_URLS": self.receiver.url,
            **self.extra_env,
        }

    def configure(self, text: str) -> None:
        (self.root / "config.toml").write_text(text, encoding="utf-8")

    def command(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """One command of middlewatch, to its end."""
        done = subprocess.run(
            [*COMMAND, *words],
            env=self.env,
            cwd=self.root,
            text=True,
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert not check or done.returncode == 0, done.stdout + done.stderr + self.log()
        return done

    def ask(self, op: str, **args: Any) -> Any:
        return Client(str(self.state / "middlewatch.sock"), PATIENCE_S).ask(op, **args)

    def docs(self, kind: str) -> dict[str, Any]:
        """What the store has of a kind, by id; read beside the daemon."""
        place = f"{(self.state / 'middlewatch.sqlite').as_uri()}?mode=ro"
        with contextlib.closing(sqlite3.connect(place, uri=True, timeout=30)) as db:
            rows = db.execute("select id, doc from docs where kind = ?", (kind,)).fetchall()
        return {name: json.loads(doc) for name, doc in rows}

    def log(self) -> str:
        path = self.state / "daemon.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def run(self, *command: str, name: str = "run", options: tuple[str, ...] = ()) -> str:
        """``middlewatch run``; returns the run's id."""
        done = self.command("run", "--json", "--name", name, *options, "--", *command)
        return str(json.loads(done.stdout)["run"])

    def spawn(self, *command: str, **more: Any) -> subprocess.Popen[bytes]:
        """A process outside of middlewatch, ended with the test."""
        process = subprocess.Popen(
            command,
            env={**self.env, **more.pop("env", {})},
            cwd=more.pop("cwd", self.root),
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            **more,
        )
        self.started.append(process)
        return process

    def status(self, run: str | None = None) -> dict[str, Any]:
        answer = self.ask("status", run=run)
        assert isinstance(answer, dict)
        return answer

    def until(self, what: Callable[[], Any], why: str = "it") -> Any:
        """Poll until ``what`` is true; fails with the last answer and the daemon's log."""
        deadline = time.monotonic() + PATIENCE_S
        pause_s = 0.05
        value: Any = None
        while time.monotonic() < deadline:
            try:
                value = what()
                if value:
                    return value
            except DaemonUnreachable as error:
                value = error
            time.sleep(pause_s)
            pause_s = min(0.3, pause_s * 1.3)  # every question costs the daemon some work
        told = [(p.title, p.body) for p in self.receiver.pushes]
        last = f"the last answer: {value!r}\npushes: {told}\n{self.log()}"
        raise AssertionError(f"it never came: {why}\n{last}")

    def push(self, wanted: Callable[[Push], bool], why: str = "a push") -> Push:
        """The first push that is wanted."""
        found = self.until(lambda: [p for p in self.receiver.pushes if wanted(p)], why)
        push: Push = found[0]
        return push

    def incident(self, trouble: str) -> dict[str, Any]:
        """The incident of a class, once it is known."""
        found = self.until(
            lambda: [i for i in self.ask("incidents", all=True) if i["class"] == trouble],
            f"an incident {trouble}",
        )
        one: dict[str, Any] = found[0]
        return one

    def steps(self, at_least: float, run: str | None = None) -> None:
        """Wait until the watch has seen a step."""
        self.until(
            lambda: (self.status(run)["now"]["step"] or 0) >= at_least,
            f"step {at_least}",
        )

    def waiting(self) -> list[int]:
        """Processes of this box that wait for a word of the daemon on what follows a run, or carry it out."""
        found = []
        for folder in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                words = (folder / "cmdline").read_bytes() if folder.name.isdigit() else b""
                ours = {b"--next", b"--ordered"} & set(words.split(b"\0"))
                found += [int(folder.name)] if ours and str(self.state).encode() in words else []
        return found

    def close(self) -> None:
        for pid in self.waiting():  # it would start a daemon again, or wait for a day
            end(pid)
        with contextlib.suppress(Exception):
            # Discovery finds the runs of other tests as well: those are not ours to end.
            pids = [r["pid"] for r in self.ask("runs") if r["cwd"].startswith(str(self.root))]
            pid = self.ask("stop")["pid"]
            self.until(lambda: not is_alive(pid), "the end of the daemon")
            for pid in pids:
                end(pid)
        for pid in self.waiting():
            end(pid)
        for process in self.started:
            end(process.pid)
            process.wait()


def is_alive(pid: int) -> bool:
    """Whether a process is there, and more than a zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def notifier_of(daemon: int) -> int | None:
    """The child of a daemon that pushes, if one lives."""
    below = Processes("/proc").descendants(daemon)
    return next((one.pid for one in below if NOTIFIER_ARGV[-1] in one.argv), None)


def end(pid: int | None) -> None:
    """SIGCONT and SIGKILL to a process and everything below it."""
    if not pid:
        return
    processes = Processes("/proc")
    for one in (pid, *(p.pid for p in processes.descendants(pid))):
        for number in (signal.SIGKILL, signal.SIGCONT):
            with contextlib.suppress(OSError):
                os.kill(one, number)
