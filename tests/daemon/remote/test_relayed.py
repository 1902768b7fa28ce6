"""A daemon asked through one connection that stays open: pages, breaks, pauses, words for what went wrong."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from middlewatch.daemon.remote.connection import BoxUnreachable
from middlewatch.daemon.remote.relayed import PAUSES_S, Relayed
from middlewatch.daemon.system.errors import DaemonUnreachable, UsageError

from ...fakes import local_shell
from ...fakes.clock import FakeClock

DAEMON = f"""#!{sys.executable}
import json, sys
assert sys.argv[1:] == ["relay"]
for line in sys.stdin:
    asked = json.loads(line)
    if asked["op"] == "overview":
        page = int(asked.get("after", 0))
        answer = {{"ok": True, "data": {{"host": "box3", "runs": [{{"run": f"r-{{page}}", "words": "x" * 200000}}]}}}}
        if page < 2:
            answer["next"] = str(page + 1)
    elif asked["op"] == "die":
        sys.exit("middlewatch: gone")
    elif asked["op"] == "hang":
        import time
        time.sleep(3600)
    else:
        answer = {{"ok": False, "error": "no such incident", "hint": "look", "exit_code": 2}}
    print(json.dumps(answer), flush=True)
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RSYNC_RSH", str(local_shell.shell(tmp_path)))
    return tmp_path


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def far(root: Path, clock: FakeClock) -> Iterator[Relayed]:
    local_shell.box(root, "box3", DAEMON)
    made = Relayed("box3", clock=clock)
    yield made
    made.close()


def test_a_long_list_comes_whole_and_one_connection_does_for_all(far: Relayed) -> None:
    for _ in range(3):
        assert [run["run"] for run in far.ask("overview")["runs"]] == ["r-0", "r-1", "r-2"]
        process = far._process
        with pytest.raises(Exception, match="no such incident"):
            far.ask("ack", id="x")
        assert far._process is process


def test_a_broken_connection_is_made_again_after_a_pause(
    far: Relayed, clock: FakeClock, root: Path
) -> None:
    far.ask("overview")
    with pytest.raises(BoxUnreachable, match="box3: gone"):
        far.ask("die")
    with pytest.raises(BoxUnreachable, match=f"box3: gone; again in {PAUSES_S[0]:.0f} s"):
        far.ask("overview")
    clock.jump(PAUSES_S[0])
    assert far.ask("overview")["host"] == "box3"
    # And the pauses grow as long as it does not answer.
    (root / "box3" / "down").touch()
    with pytest.raises(BoxUnreachable):
        far.ask("die")
    for pause in PAUSES_S[1:4]:
        clock.jump(PAUSES_S[-1])
        with pytest.raises(BoxUnreachable, match="Connection refused"):
            far.ask("overview")
        with pytest.raises(BoxUnreachable, match=f"again in {pause:.0f} s"):
            far.ask("overview")


def test_a_box_that_says_nothing_is_given_up(root: Path) -> None:
    local_shell.box(root, "mute", DAEMON)
    far = Relayed("mute", timeout_s=0.2, clock=FakeClock())
    with pytest.raises(BoxUnreachable, match="no answer within"):
        far.ask("hang")
    assert far._process is None


@pytest.mark.parametrize(
    ("name", "program", "words", "hint"),
    [
        ("bare", "", "not installed on bare", "middlewatch deploy bare"),
        (
            "old",
            "#!/bin/sh\necho there is no \\'relay\\' >&2; exit 2\n",
            "older and has no relay",
            "ssh -t old",
        ),
        ("idle", "#!/bin/sh\nexit 3\n", "no daemon answers on idle", "ssh idle middlewatch start"),
        ("absent", None, "Could not resolve", "ssh absent true"),
    ],
)
def test_what_is_wrong_is_said(
    root: Path,
    name: str,
    program: str | None,
    words: str,
    hint: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if name == "bare":
        monkeypatch.setenv("PATH", "/usr/bin:/bin")
    if program is not None:
        local_shell.box(root, name, program)
    with pytest.raises(DaemonUnreachable, match=words) as caught:
        Relayed(name, clock=FakeClock()).ask("overview")
    assert hint in caught.value.hint


def test_a_name_is_no_option_of_ssh() -> None:
    with pytest.raises(UsageError):
        Relayed("-oProxyCommand=x")


def test_without_an_ssh_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RSYNC_RSH", "/nowhere/ssh")
    with pytest.raises(BoxUnreachable, match="cannot be started"):
        Relayed("box3").ask("overview")
