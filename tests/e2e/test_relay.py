"""The screen of another box: a real daemon and a real run behind ``relay``, the screen in a real terminal."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from middlewatch.daemon.remote import relayed
from middlewatch.daemon.remote.relayed import Relayed
from middlewatch.daemon.system import json_patch
from middlewatch.daemon.system.errors import DaemonUnreachable

from ..fakes import local_shell

Program = Callable[[str], list[str]]
COMMAND = Path(sys.executable).with_name("middlewatch")


@pytest.fixture
def shell(box: Any, tmp_path: Path) -> str:
    """Reaches the box of the test as ``box3``."""
    root = tmp_path / "boxes"
    far = local_shell.box(root, "box3", f'#!/bin/sh\nexec {COMMAND} "$@"\n')
    (far / "state").symlink_to(box.state)
    return str(local_shell.shell(root))


def test_the_daemon_is_asked_through_a_relay(
    box: Any, program: Program, shell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RSYNC_RSH", shell)
    far, patched = Relayed("box3"), list[Any]()

    def applied(before: Any, patch: Any) -> Any:
        patched.append(patch)
        return json_patch.applied(before, patch)

    monkeypatch.setattr(relayed, "json_patch", SimpleNamespace(applied=applied))
    run = box.run(*program("trainer"), "endless", "--sleep", "0.05", name="gpt")
    box.steps(3)
    try:
        # On a busy box the first connection may be given up: the screen asks again as well.
        box.until(lambda: [one["run"] for one in far.ask("overview")["runs"]] == [run], "the run")
        assert far.ask("checkpoints", run=run)["run"] == run
        # The same state as the daemon tells it, though only what changed came over the line.
        step = far.ask("overview")["runs"][0]["now"]["step"]
        box.until(lambda: far.ask("overview")["runs"][0]["now"]["step"] > step + 20, "more steps")
        assert patched
        box.command("stop")
        with pytest.raises(DaemonUnreachable):
            far.ask("overview")
        box.command("start")

        def again() -> bool:
            try:
                return bool(far.ask("overview")["runs"])
            except DaemonUnreachable:
                return False

        box.until(again, "the answer of the new daemon")
    finally:
        far.close()


def test_the_screen_of_two_boxes(
    box: Any, program: Program, shell: str, terminal: Callable[..., str], tmp_path: Path
) -> None:
    box.run(*program("trainer"), "nan", "--at", "40", "--sleep", "0.1", name="gpt")
    box.steps(3)
    # The size of another terminal, as a shell may export it: the screen has to ask its own.
    words = f"LINES=24 COLUMNS=80 RSYNC_RSH={shell} TERM=xterm-256color {shlex.quote(str(COMMAND))} tui box3 dead --state-dir {tmp_path / 'own'}"
    terminal("new-session", "-d", "-x", "70", "-y", "20", words)

    def shows(*wanted: str) -> bool:
        screen = terminal("capture-pane", "-p")
        return all(word in screen for word in wanted)

    def until(why: str, *wanted: str) -> None:
        try:
            box.until(lambda: shows(*wanted), why)
        except AssertionError as late:
            raise AssertionError(f"{why}; the screen:\n{terminal('capture-pane', '-p')}") from late

    # One box, and one that does not exist: the first is not held up.
    until("both boxes", "[Boxes] 2, 1 without an answer", "gpt", "dead")
    until("the worst run in the first row", "> box3", "failing")
    terminal("send-keys", "Enter")
    until("the overview of the box", "gpt", "[Runs] 1")
    until("the incident", "CRITICAL", "you would lose")
    terminal("send-keys", "6")
    until("the log", "the log is on the box")
    # The connection is killed, and comes back by itself.
    relays = _relays(shell)
    assert relays
    for pid in relays:
        os.kill(pid, signal.SIGKILL)
    box.until(lambda: bool(_relays(shell)) and _relays(shell) != relays, "another connection")
    box.until(lambda: not shows("no answer"), "the answer again")
    terminal("send-keys", "0")
    until("the boxes", "[Boxes] 2")
    terminal("send-keys", "q")
    box.until(lambda: not terminal("list-sessions").strip(), "the screen is left")
    box.until(lambda: not _relays(shell), "no connection is left")


def _relays(shell: str) -> set[int]:
    """Processes of ours that hand on messages of the box of this test."""
    found = set()
    state = f"MIDDLEWATCH_STATE_DIR={Path(shell).parent}/box3/state".encode()
    for folder in Path("/proc").iterdir():
        try:
            if (
                b"\0relay\0" in (folder / "cmdline").read_bytes()
                and state in (folder / "environ").read_bytes()
            ):
                found.add(int(folder.name))
        except (OSError, ValueError):
            continue
    return found
