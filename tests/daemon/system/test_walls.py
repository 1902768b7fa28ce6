"""What each child can no longer do, tried by a real child of the same walls."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.config.schema import Config
from middlewatch.daemon.mirror.source import walls_for
from middlewatch.daemon.report.notifier import notifier
from middlewatch.daemon.service.run_container import docker_of
from middlewatch.daemon.sources.stacks import Stacks
from middlewatch.daemon.system import walls
from middlewatch.daemon.system.clock import SystemClock
from middlewatch.daemon.system.guard import WRITES, Guards
from middlewatch.daemon.system.worker import JsonWorker

ROOT = os.geteuid() == 0
LOOKS = {"DAC_READ_SEARCH", "SYS_PTRACE"}
KEPT: dict[str, tuple[set[str], bool | str, str]] = {
    "verifier": (LOOKS, False, "none"),
    "loads": (LOOKS | {"KILL", "SETGID", "SETUID"}, False, "all"),
    "stacks": (LOOKS, False, "none"),
    "far": (LOOKS, False, "none"),
    "far-copies": ({"DAC_READ_SEARCH", "DAC_OVERRIDE"}, False, "all"),
    "disk": ({"DAC_READ_SEARCH"}, False, "none"),
    "docker": ({"DAC_READ_SEARCH"}, "unix", "none"),
    "save-search": (LOOKS, False, "none"),
    "notifier": ({"DAC_READ_SEARCH"}, True, "listed"),
    "mirror-folder": ({"DAC_READ_SEARCH", "DAC_OVERRIDE"}, False, "listed"),
    "mirror-host": ({"DAC_READ_SEARCH", "DAC_OVERRIDE"}, True, "listed"),
    "mirror-remote": ({"DAC_READ_SEARCH", "DAC_OVERRIDE", "SYS_PTRACE"}, True, "all"),
    "finder": (
        LOOKS | {"DAC_OVERRIDE", "CHOWN", "FOWNER", "KILL", "SETGID", "SETUID"},
        True,
        "all",
    ),
    "usual": (LOOKS | {"SYSLOG"}, True, "all"),
}
"""Written down once more, so that nobody widens a wall by the way. ``load`` has a test of its own
(``test_loading``)."""

TRY = r"""
import ctypes, json, os, socket, subprocess, sys
home, listed = sys.argv[1:3]
mount = sys.argv[3:] != ['without mount']
def works(what):
    try:
        what()
    except OSError:
        return False
    return True
def status(name):
    text = open('/proc/self/status').read()
    return text.split(name + ':')[1].split()[0]
def in_all(act):
    return {where: works(lambda: act(where)) for where in (home, listed)}
def write(path, how='w'):
    with open(path, how) as file: file.write('x')
def replace(where):
    os.mkdir(where + '/sub')
    write(where + '/sub/a')
    os.replace(where + '/sub/a', where + '/moved')
found = {
    'caps': int(status('CapEff'), 16) | int(status('CapPrm'), 16) | int(status('CapInh'), 16),
    'nnp': status('NoNewPrivs'),
    'inet': works(lambda: socket.socket(socket.AF_INET)),
    'unix': works(lambda: socket.socket(socket.AF_UNIX)),
    'listen': works(lambda: socket.socket(socket.AF_UNIX).bind('\0' + home)),
    'netlink': works(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)),
    'create': in_all(lambda w: write(w + '/new')),
    'append': in_all(lambda w: write(w + '/old', 'a')),
    'replace': in_all(replace),
    'link': in_all(lambda w: os.symlink('x', w + '/link')),
    'remove': in_all(lambda w: os.unlink(w + '/victim')),
    'truncate': in_all(lambda w: os.truncate(w + '/old', 0)),
    'read': in_all(lambda w: open(w + '/old').read()),
    'mount': mount and ctypes.CDLL(None).mount(b'none', home.encode(), b'tmpfs', 0, None) == 0,
    'program': int(subprocess.run(
        ['sh', '-c', 'while read -r a b; do [ $a = CapPrm: ] && echo $b; done < /proc/self/status'],
        stdout=subprocess.PIPE).stdout or b'0', 16),
}
sys.stdin.readline()
print(json.dumps(found), flush=True)
sys.stdin.readline()
"""


def tried(name: str, tmp_path: Path, *words: str) -> dict[str, Any]:
    home, listed = tmp_path / "home", tmp_path / "listed"
    for folder in (home, listed):
        folder.mkdir()
        for file in ("old", "victim"):
            (folder / file).write_text("old")
    argv = (sys.executable, "-c", TRY, str(home), str(listed), *words)
    child = JsonWorker(argv, 60.0, walls=name, folders=[str(listed)])
    try:
        assert child.ask({}, 0.0), child.start_error
        fd = child.fileno()
        assert fd is not None
        select.select([fd], [], [], 60)
        answers = child.answers()
        assert answers, child.last_words
        return answers[0]
    finally:
        child.close()


def test_the_table_is_whole() -> None:
    assert set(KEPT) | {"load"} == set(walls.CHILDREN)
    assert all(len(row.why) > 20 for row in walls.CHILDREN.values())
    told = (Path(__file__).parents[3] / "SECURITY.md").read_text()
    for name, row in walls.CHILDREN.items():
        line = next(line for line in told.splitlines() if line.startswith(f"| {name} |"))
        shown = {word.strip("`") for word in line.split("|")[2].split()}
        assert shown - {"none"} == row.capabilities, line
        words = {True: "yes", False: "no", "unix": "Unix sockets"}
        assert line.split("|")[3].strip() == words[row.network], line
        assert line.split("|")[4].strip() == row.writes, line


needs_seccomp = pytest.mark.skipif(bool(walls.missing()), reason="this kernel offers less")


@needs_seccomp
@pytest.mark.parametrize("name", KEPT)
def test_a_child_has_no_more_than_it_needs(name: str, tmp_path: Path) -> None:
    caps, network, writes = KEPT[name]
    found = tried(name, tmp_path)
    allowed = sum(1 << walls.CAPABILITIES[cap] for cap in caps)
    assert found["caps"] & ~allowed == 0
    if ROOT:
        assert found["caps"] == allowed, "it cannot do its task"
    assert found["program"] & ~allowed == 0, "what it starts has more than it"
    assert found["nnp"] == "1"
    assert not found["mount"]
    assert {found[kind] for kind in ("inet", "netlink")} == {network is True}
    assert found["unix"] == bool(network)
    assert found["listen"] == (network is True)
    home, listed = str(tmp_path / "home"), str(tmp_path / "listed")
    for act in ("create", "append", "replace", "link", "remove", "truncate"):
        assert found[act] == {home: writes == "all", listed: writes != "none"}, act
    assert found["read"] == {home: True, listed: True}


@needs_seccomp
def test_without_walls_all_of_this_works(tmp_path: Path) -> None:
    """Or the test above proves nothing."""
    found = tried(walls.NONE, tmp_path, "without mount")
    assert found["inet"]
    assert found["unix"]
    for act in ("create", "append", "replace", "link", "remove", "truncate"):
        assert set(found[act].values()) == {True}, act
    if ROOT:
        assert found["caps"] > 1 << 20


@pytest.mark.system
@pytest.mark.skipif(not ROOT, reason="needs root: to have capabilities")
def test_a_service_that_may_not_shrink_the_bounding_set() -> None:
    """As under systemd with a CapabilityBoundingSet: without CAP_SETPCAP."""
    code = (
        "import ctypes, os, sys; from middlewatch.daemon.system import walls\n"
        "walls._libc.prctl(24, 8, 0, 0, 0)\n"  # CAP_SETPCAP
        "h = walls._CapHeader(walls._CAP_VERSION, 0); d = (ctypes.c_uint32 * 6)()\n"
        "walls._libc.capget(ctypes.byref(h), d); d[0] &= ~256; d[1] &= ~256\n"
        "assert walls._libc.capset(ctypes.byref(h), d) == 0\n"
        "walls.enter('disk')\n"
        "os.execv('/bin/cat', ['cat', '/proc/self/status'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    lines = dict(line.split(":", 1) for line in done.stdout.splitlines())
    assert int(lines["CapBnd"], 16) > 1 << 20, "or this is not that service"
    assert int(lines["CapPrm"], 16) == int(lines["CapEff"], 16) == 1 << 2


def test_what_a_kernel_does_not_offer_is_said_and_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walls, "landlock_abi", lambda: 1)
    monkeypatch.setattr(walls, "machine", lambda: "")
    told = walls.missing()
    assert len(told) == 2
    assert "seccomp" in told[0]
    assert "Landlock" in told[1]
    code = (
        "from middlewatch.daemon.system import walls\n"
        "walls.landlock_abi = lambda: 0\n"
        "walls.machine = lambda: ''\n"
        "assert walls.enter('mirror-folder', ['/tmp']) is False\n"
        f"open({str(tmp_path / 'new')!r}, 'w').close()\nprint('goes on')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "goes on\n", done.stderr


# ------------------------------------------------------------------------ who has which


def test_each_child_is_given_its_walls() -> None:
    clock = SystemClock()
    assert notifier().walls == "notifier"
    assert Stacks(clock)._child.walls == "stacks"
    guards = Guards(("true",), clock)
    far: Any = type("Far", (), {"device": "0:1"})()
    assert guards.guard(far, "log")._child.walls == "far"
    assert guards.guard(far, "scan")._child.walls == "far"
    assert guards.guard(far, WRITES)._child.walls == "far-copies"
    guards.close()
    docker = docker_of(Config(), clock)
    assert docker is not None
    assert docker._child.walls == "docker"
    assert JsonWorker(("true",), 1.0).walls == "usual"


@pytest.mark.parametrize(
    ("to", "path", "walls_of"),
    [
        ("/mnt/safe", "/ckpt/5", "mirror-folder"),
        ("me@host:x", "/ckpt/5", "mirror-host"),
        ("cloud:x", "/ckpt/5", "mirror-remote"),
        ("/mnt/safe", "/proc/7/root/ckpt/5", "mirror-remote"),
    ],
)
def test_the_mirror_has_the_walls_of_its_destination(to: str, path: str, walls_of: str) -> None:
    name, folders = walls_for(to, path, "/var/lib/middlewatch/mirror.json")
    assert name == walls_of
    if walls.CHILDREN[name].writes == "listed":
        assert "/var/lib/middlewatch" in folders
        assert ("/mnt/safe" in folders) == (walls_of == "mirror-folder")


def starts(make: Callable[[], JsonWorker]) -> dict[str, str]:
    """The status in /proc of a child, once it is the program that it should be."""
    child = make()
    try:
        assert child.ask({}, 0.0), child.start_error
        deadline = time.monotonic() + 180
        while True:
            text = Path(f"/proc/{child.pid}/status").read_text()
            lines = dict(line.split(":", 1) for line in text.splitlines())
            if lines["NoNewPrivs"].strip() == "1" and lines["Seccomp"].strip() == "2":
                return lines
            assert time.monotonic() < deadline, text
            time.sleep(0.02)
    finally:
        child.close()


@needs_seccomp
def test_the_real_notifier_is_inside() -> None:
    lines = starts(notifier)
    assert int(lines["CapPrm"], 16) == int(lines["CapBnd"], 16) & 1 << 2 if ROOT else True
