"""``doctor``: is the watch itself well?"""

from __future__ import annotations

import argparse
import os
import sqlite3
from contextlib import closing
from typing import Any

from ..box import own_checks
from ..box.own_checks import Check, disk_facts, line
from ..config.paths import StateDir
from ..system import procfs
from ..system.errors import DaemonUnreachable
from ..system.footprint import state_disk
from . import console
from .context import client, configuration, state

WIDTH = 4


def doctor(args: argparse.Namespace) -> int:
    """Show what the daemon knows of itself; exit 1 when something is odd or bad, 3 without a daemon."""
    where = state(args)
    try:
        report: dict[str, Any] = client(args).ask("doctor")
        report["running"] = True
    except DaemonUnreachable as error:
        report = _alone(args, where, error)
    check = _integrity(where)
    report["checks"].append(line(check))
    if check.state == "bad":
        report["verdict"] = "bad"
    if args.json:
        console.as_json(report)
    else:
        _show(report)
    if not report["running"]:
        return DaemonUnreachable.exit_code
    return int(report["verdict"] != "ok")


def _show(report: dict[str, Any]) -> None:
    """The troubles first: they are what a person has come for."""
    rank = {"bad": 0, "odd": 1, "ok": 2}
    for check in sorted(report["checks"], key=lambda one: rank[one["state"]]):
        console.say(console.paint(check["state"], WIDTH), f"  {check['what']}: {check['detail']}")
        if check["step"]:
            console.say(" " * WIDTH, f"    what to do: {check['step']}")


def _alone(args: argparse.Namespace, where: StateDir, error: DaemonUnreachable) -> dict[str, Any]:
    """What can be said when no daemon answers."""
    disk = state_disk(where.root, where.lock, None)
    cap = configuration(args).watch.store_max_bytes
    checks = [_daemon(where, error)]
    if os.path.lexists(where.root):
        checks.append(own_checks.check_state(disk, os.geteuid(), cap))
    return {
        "running": False,
        "host": os.uname().nodename,
        "verdict": own_checks.verdict(checks),
        "checks": [line(check) for check in checks],
        "state": disk_facts(disk),
    }


def _daemon(where: StateDir, error: DaemonUnreachable) -> Check:
    """Whether there is a daemon that does not answer, or none."""
    try:
        pid = int(where.lock.read_text(encoding="ascii"))
        seen = procfs.stat(pid)
    except (OSError, ValueError):
        seen = None
    if seen is None or not _is_ours(seen.pid, where):
        return Check("daemon", "bad", f"no daemon runs: {error}", "middlewatch start")
    wchan = procfs.wchan(seen.pid)
    waits = f", waits in {wchan}" if wchan else ""
    told = f"pid {seen.pid} is there (state {seen.state}{waits}) and does not answer: {error}"
    return Check("daemon", "bad", told, f"see its log: {where.daemon_log}, or the journal")


def _is_ours(pid: int, where: StateDir) -> bool:
    """Whether the process has the lock file open: the number may be that of another one by now."""
    folder = f"{procfs.PROC}/{pid}/fd"
    try:
        return any(procfs.link(f"{folder}/{fd}") == str(where.lock) for fd in os.listdir(folder))
    except OSError:
        return False


def _integrity(where: StateDir) -> Check:
    """Read the whole store, beside the daemon and not in it: that may take seconds."""
    what = "integrity of the store"
    if not where.store.exists():
        return Check(what, "ok", "there is no store yet")
    try:
        address = f"{where.store.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=5.0)) as db:
            (told,) = db.execute("pragma quick_check(1)").fetchone()
            (schema,) = db.execute("pragma schema_version").fetchone()
    except sqlite3.OperationalError as error:
        # A full disk has no room for the files that even a reader of a log needs.
        return Check(what, "odd", f"it cannot be read now: {error}", "make room on its disk")
    except sqlite3.Error as error:
        told, schema = str(error), 0
    if told != "ok":
        step = "restart the daemon: it sets the store aside and begins a new one"
        return Check(what, "bad", f"{where.store} is damaged: {told}", step)
    return Check(what, "ok", f"sound, schema version {schema}")
