"""``drill``: a toy run gets into real trouble, which is pushed to the user's real alert URLs.

The drill has its own daemon with its own state directory. Watched runs, their incidents and the
budget of pushes are not affected.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from ..client import Client
from ..config.paths import StateDir
from ..config.phones import own_urls, write_urls
from ..config.run_spec import Rank, RunSpec, run_id
from ..config.schema import Config
from ..launch.start import Launched, launch
from ..report.notifier import DEADLINE_S
from ..system.clock import SystemClock
from ..system.control_socket import socket_path_fits
from ..system.errors import ConfigError, DaemonUnreachable, MiddlewatchError
from ..system.worker import module_argv
from . import console
from .context import configuration, state
from .phone import ADD

START_S = 20.0
POLL_S = 0.1
OTHERS_S = 15.0
"""Seconds from the answer of one route to that of the next; a name that no server knows takes ten."""
CGROUP_BYTES = 96 << 20
"""Memory limit of the toy run in ``drill oom``: Python itself needs a tenth of it."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of drill."""

    classes: frozenset[str]
    """The push must be about one of these."""
    told_s: float
    """Seconds that the push may take, from the start of the toy run."""
    by: str
    """What causes the trouble, for a person."""


KINDS: Mapping[str, Kind] = {
    "nan": Kind(
        frozenset({"loss_nan", "loss_inf"}), 60, "a learning rate so high that numbers overflow"
    ),
    "hang": Kind(frozenset({"hang"}), 120, "a lock that its holder waits for"),
    "oom": Kind(
        frozenset({"cgroup_oom_kill", "host_oom_kill"}), 90, "a control group of 96 MiB of memory"
    ),
    "disk": Kind(
        frozenset({"disk_full", "ckpt_write_failed"}), 60, "a checkpoint that does not fit"
    ),
    "crash": Kind(frozenset({"python_exception"}), 60, "an exception of the script"),
}
"""The seconds are chosen: 20 steps of 0.15 s, the time that the rule needs, and much reserve for a
busy box."""


def drill(args: argparse.Namespace) -> int:
    """Run one drill; exit 1 when the trouble was not pushed, or a URL did not accept the push.

    Raises ConfigError when there is no alert URL.
    """
    config = configuration(args)
    if not config.alert_urls and not own_urls(state(args).alert_urls):
        raise ConfigError(
            "no alert URL is set: the drill could not be pushed anywhere", f"add one: {ADD}"
        )
    with _interruptible(), _Scene(args, config) as scene:
        report = scene.play(args.trouble)
    if args.json:
        console.as_json(report)
    else:
        _print(report)
    return int(not report["ok"])


class _Scene:
    """The folder, daemon, control group and toy run of one drill; all are removed at the end."""

    def __init__(self, args: argparse.Namespace, config: Config) -> None:
        self._clock = SystemClock()
        self._config = config
        self._own_urls = own_urls(state(args).alert_urls)
        self._config_file = str(Path(args.config).absolute()) if args.config else ""
        self._closing = contextlib.ExitStack()

    def __enter__(self) -> _Scene:
        self._state = self._make_folder(None)
        if not socket_path_fits(self._state.socket):
            self._closing.close()
            self._state = self._make_folder("/tmp")  # $TMPDIR is too long for a socket
        return self

    def _make_folder(self, where: str | None) -> StateDir:
        self._folder = Path(tempfile.mkdtemp(prefix="middlewatch-drill-", dir=where))
        self._closing.callback(shutil.rmtree, self._folder, ignore_errors=True)
        return StateDir(self._folder / "state")

    def __exit__(self, *raised: object) -> None:
        _say("cleaning up")
        self._closing.close()

    def play(self, trouble: str) -> dict[str, Any]:
        """Start everything and wait for the push; returns what ``drill --json`` prints."""
        kind = KINDS[trouble]
        group = self._group() if trouble == "oom" else None
        by = kind.by
        if trouble == "oom" and group is None:
            by = "the kernel's line in the log: a control group cannot be created on this box"
            _say(by)
        _say("starting a daemon for the drill")
        self._start_daemon()
        _say(f"starting a toy run; trouble after 20 steps: {by}")
        toy, run = self._start_toy(trouble, group)
        message = self._wait(run, kind)
        mark = self._folder / "mark"
        began = None
        if mark.exists():
            at, _, means = mark.read_text(encoding="utf-8").partition("\n")
            began, by = float(at), means or by
        incidents = self._ask("incidents", all=True)
        log = Path(toy.log).read_text(encoding="utf-8", errors="replace").splitlines()
        return _report(trouble, by, kind, message, began, incidents, log)

    def _ask(self, op: str, **more: Any) -> Any:
        return Client(str(self._state.socket)).ask(op, **more)

    def _start_daemon(self) -> None:
        self._state.root.mkdir(mode=0o700)
        write_urls(self._state.alert_urls, self._own_urls)
        words = [str(self._state.root), *([self._config_file] if self._config_file else [])]
        with self._state.daemon_log.open("ab") as log:
            process = subprocess.Popen(
                [*module_argv("middlewatch.daemon.cli.drill_daemon"), *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._closing.callback(_end, process)
        deadline = self._clock.monotonic() + START_S
        while self._clock.monotonic() < deadline and process.poll() is None:
            with contextlib.suppress(DaemonUnreachable):
                self._ask("ping")
                return
            self._clock.sleep(POLL_S)
        words = self._state.daemon_log.read_text(encoding="utf-8", errors="replace").splitlines()
        raise MiddlewatchError(f"the daemon of the drill did not start: {' | '.join(words[-2:])}")

    def _start_toy(self, trouble: str, group: Path | None) -> tuple[Launched, str]:
        run, folder = run_id(f"drill-{trouble}"), self._folder / "toy"
        folder.mkdir()
        words = [trouble, str(self._folder / "mark"), str(folder), *([str(group)] if group else [])]
        command = [*module_argv("middlewatch.daemon.cli.drill_trainer"), *words]
        toy = launch(
            command,
            name=run,
            log=self._folder / "toy.log",
            exit_file=self._folder / "exit.json",
            cwd=self._folder,
        )
        self._closing.callback(_kill, toy)
        spec = RunSpec(
            id=run,
            name=f"drill-{trouble}",
            pid=toy.pid,
            start_ticks=toy.start_ticks,
            ranks=(Rank(toy.pid, toy.start_ticks),),
            command=tuple(command),
            cwd=str(self._folder),
            logs=(toy.log,),
            exit_file=toy.exit_file,
            started_at=self._clock.now(),
            home=toy.via,
        )
        self._ask("watch", spec=spec.to_json())
        return toy, run

    def _wait(self, run: str, kind: Kind) -> dict[str, Any] | None:
        """Wait for the push and for the answers of all URLs. ``None`` when none came in time."""
        patience = self._clock.monotonic() + kind.told_s
        told: dict[str, Any] | None = None
        answers, step = 0, -1
        routes = len(self._ask("routes")["urls"])
        while self._clock.monotonic() < patience:
            messages = self._ask("outbox")
            if messages and told is None:
                told = messages[0]
                _say(f"pushed: {told['title']}")
                patience = self._clock.monotonic() + DEADLINE_S + 5
            if messages:
                told = messages[0]
                if told["error"] and not told["results"]:
                    return told
                if len(told["results"]) > answers:
                    # Each route answers by itself, and some may not be meant for such a push.
                    answers = len(told["results"])
                    patience = min(patience, self._clock.monotonic() + OTHERS_S)
                if told["state"] == "sent" or answers >= routes:
                    return told
            if told is None:
                now = int(self._ask("status", run=run)["now"]["step"] or 0)
                if now // 10 != step // 10:
                    _say(f"the toy run is at step {now}")
                    step = now
            self._clock.sleep(POLL_S)
        return told

    def _group(self) -> Path | None:
        """A new control group with :data:`CGROUP_BYTES` of memory; ``None`` if not permitted."""
        v1, v2 = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")
        name = f"middlewatch-drill-{os.getpid()}"
        try:
            if (v1 / "memory.limit_in_bytes").exists():
                group, limit, swap = v1 / name, "memory.limit_in_bytes", ""
            elif "memory" in (v2 / "cgroup.subtree_control").read_text(encoding="ascii").split():
                group, limit, swap = v2 / name, "memory.max", "memory.swap.max"
            else:
                return None
            group.mkdir()
            self._closing.callback(self._drop_group, group)
            (group / limit).write_text(str(CGROUP_BYTES), encoding="ascii")
            if swap and (group / swap).exists():
                (group / swap).write_text("0", encoding="ascii")
        except OSError:
            return None
        return group

    def _drop_group(self, group: Path) -> None:
        for _ in range(50):
            try:
                group.rmdir()
                return
            except OSError:
                self._clock.sleep(POLL_S)  # its last process has not quite ended
        _say(f"{group} could not be removed: rmdir it by hand")


def _report(
    trouble: str,
    by: str,
    kind: Kind,
    message: dict[str, Any] | None,
    began: float | None,
    incidents: list[dict[str, Any]],
    log: list[str],
) -> dict[str, Any]:
    told = next((i for i in incidents if message and i["id"] == message["incident"]), None)
    right = told is not None and told["class"] in kind.classes
    seconds = _since(began, message["created_at"]) if message else None
    urls, spent = [], seconds or 0.0
    for one in (message or {}).get("results") or ():
        spent += float(one.get("seconds", 0.0))
        urls.append(
            {
                "url": one["url"],
                "ok": one["ok"],
                "error": one["error"],
                "seconds": round(spent, 1) if seconds is not None else None,
            }
        )
    error = ""
    if message is None:
        error = f"nothing was pushed in {kind.told_s:.0f} s; last line of the toy run: {log[-1:]}"
    elif not right:
        error = f"pushed under the wrong class: {told['class'] if told else 'none'}"
    elif not urls:
        error = message["error"] or "the notifier gave no answer"
    return {
        "drill": trouble,
        "by": by,
        "ok": right and bool(urls) and all(u["ok"] for u in urls),
        "class": told["class"] if told else None,
        "title": message["title"] if message else None,
        "told_after_s": None if seconds is None else round(seconds, 1),
        "urls": urls,
        "error": error,
    }


def _since(began: float | None, created_at: str) -> float | None:
    return None if began is None else datetime.fromisoformat(created_at).timestamp() - began


def _print(report: dict[str, Any]) -> None:
    console.say(f"drill {report['drill']}, by {report['by']}")
    if report["title"]:
        after = (
            "" if report["told_after_s"] is None else f" {report['told_after_s']} s after it began"
        )
        console.say(f"  pushed{after}: {report['title']}")
    for url in report["urls"]:
        if url["ok"]:
            console.say(f"  {url['url']}: delivered after {url['seconds']} s")
        else:
            console.say(f"  {url['url']}: FAILED: {url['error']}")
    if report["error"]:
        console.say(f"  FAILED: {report['error']}")


def _say(words: str) -> None:
    """Print progress to standard error, so that ``--json`` prints one object only."""
    console.complain(f"drill: {words}")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(START_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _kill(toy: Launched) -> None:
    """Kill the toy run, unless its pid belongs to another process by now. Its supervisor ends by
    itself."""
    from ..system import procfs

    with contextlib.suppress(OSError):
        seen = procfs.stat(toy.pid)
        if seen is not None and seen.start_ticks == toy.start_ticks:
            os.kill(toy.pid, signal.SIGKILL)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Handle SIGTERM like Ctrl-C, so that everything is cleaned up."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
