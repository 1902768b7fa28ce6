"""The disk of the daemon itself is full, read-only, gone, or its store is damaged: pushes arrive."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.system.control_socket import spare_there

from ..fakes.box import COMMAND, is_alive

Program = Callable[[str], list[str]]
DISK = "size=12m,nr_inodes=120"
SOON = "[sentinels.blind]\nfor_s = 1\n"
"""A trouble of the watch is told at once, and not after half a minute."""


class Crowd:
    """Runs that train until they are told to die; what they print and save lies elsewhere."""

    def __init__(self, box: Any, words: list[str]) -> None:
        self.box = box
        self.words = words
        self.ids: dict[str, str] = {}
        box.state.parent.mkdir(parents=True, exist_ok=True)

    def start(self, trouble: str, name: str = "") -> str:
        name = name or trouble.replace("_", "-")
        out = self.box.root / "saves" / name
        out.mkdir(parents=True)
        options = ("--checkpoints", str(out), "--log", str(out.with_suffix(".log")))
        words = (*self.words, trouble, str(out), str(out.with_suffix(".go")))
        self.ids[name] = self.box.run(*words, name=name, options=options)
        return self.ids[name]

    def pid(self, name: str) -> int:
        return int(self.box.status(self.ids[name])["pid"])

    def go(self, name: str) -> None:
        (self.box.root / "saves" / f"{name}.go").touch()

    def push(self, name: str, words: str) -> None:
        """Wait for the one critical push about this run."""
        push = self.box.push(
            lambda p: p.title.startswith(f"[CRITICAL] {name} on"), f"{name}'s push"
        )
        assert words in f"{push.title}\n{push.body}", (push.title, push.body)

    def opened(self, name: str) -> list[str]:
        titles = [p.title for p in self.box.receiver.pushes]
        return [t for t in titles if t.startswith(f"[CRITICAL] {name} on")]

    def sound(self) -> None:
        """Wait until every living run has a checkpoint that is verified and a step."""
        for run in self.ids.values():
            self.box.until(
                lambda run=run: self.box.ask("checkpoints", run=run)["resume_from"], "a good save"
            )


@pytest.fixture
def crowd(mount: Callable[[str], Path], box: Any, program: Program) -> Crowd:
    """Runs of a daemon whose state directory is a small disk of its own."""
    box.state = mount(DISK)
    os.chmod(box.state, 0o700)
    return Crowd(box, program("twelve"))


def fill_bytes(disk: Path) -> Path:
    """Take every free byte."""
    filler = disk / "filler"
    with filler.open("ab", buffering=0) as out:
        for size in (1 << 16, 4096, 1):
            with contextlib.suppress(OSError):
                while out.write(b"x" * size):
                    pass
    return filler


def fill_inodes(disk: Path) -> list[Path]:
    """Take every free inode."""
    taken: list[Path] = []
    with contextlib.suppress(OSError):
        while True:
            one = disk / f"filler-{len(taken)}"
            one.touch()
            taken.append(one)
    return taken


def free(disk: Path) -> tuple[int, int]:
    room = os.statvfs(disk)
    return room.f_bavail, room.f_favail


def kill_daemon(box: Any) -> None:
    """``kill -9``, and wait until it is gone."""
    pid = box.ask("ping")["pid"]
    os.kill(pid, signal.SIGKILL)
    box.until(lambda: not is_alive(pid), "the end of the daemon")


def remount(disk: Path, how: str) -> None:
    done = subprocess.run(
        ["mount", "-o", f"remount,{how}", str(disk)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"the tmpfs cannot be mounted anew: {done.stderr.strip()}")


def page_of(box: Any, run: str) -> str:
    return str((box.state / "runs" / run / "training_status.md").read_text().splitlines()[0])


def same_index(box: Any, run: str) -> bool:
    """Whether the index on disk is what the daemon answers."""
    index = json.loads((box.state / "runs" / run / "checkpoints_index.json").read_text())
    return bool(index == {**box.ask("checkpoints", run=run), "updated_at": index["updated_at"]})


@pytest.mark.system
def test_deaths_on_a_full_state_disk_are_pushed_also_after_a_restart(crowd: Crowd) -> None:
    box = crowd.box
    for trouble in ("key_error", "nan", "killed", "assertion"):
        crowd.start(trouble)
    crowd.sound()
    fill_bytes(box.state)
    fillers = fill_inodes(box.state)
    crowd.go("key-error")
    crowd.go("nan")
    os.kill(crowd.pid("killed"), signal.SIGKILL)
    crowd.push("key-error", "KeyError")
    crowd.push("nan", "the loss is")
    crowd.push("killed", "SIGKILL")
    box.until(lambda: all(m["sent_at"] for m in box.ask("outbox")), "the answers of the receiver")
    fill_bytes(box.state)
    fill_inodes(box.state)
    assert free(box.state) == (0, 0)

    kill_daemon(box)
    box.command("start")
    crowd.go("assertion")
    crowd.push("assertion", "the batch has 3 rows, not 4")
    for name in ("key-error", "nan", "killed", "assertion"):
        assert len(crowd.opened(name)) == 1, crowd.opened(name)

    for filler in (*fillers, *box.state.glob("filler*")):
        filler.unlink(missing_ok=True)
    box.until(lambda: not box.ask("overview")["daemon"]["store_trouble"], "a store that is written")
    for name in ("key-error", "killed", "assertion"):
        run = crowd.ids[name]
        box.until(lambda run=run: page_of(box, run) == f"# {run}: failed", f"the page of {name}")
        box.until(lambda run=run: same_index(box, run), f"the index of {name}")
    before = {i["id"]: i["class"] for i in box.ask("incidents", all=True)}
    told = len(box.receiver.pushes)
    kill_daemon(box)
    box.command("start")
    assert before == {i["id"]: i["class"] for i in box.ask("incidents", all=True)}
    box.until(lambda: box.ask("overview")["daemon"]["uptime_s"] > 3, "a few judgements")
    new = [p.title for p in box.receiver.pushes[told:] if "CRITICAL" in p.title]
    assert not new, "what was told is not told again"


@pytest.mark.system
def test_a_stopped_daemon_starts_on_a_full_disk(crowd: Crowd) -> None:
    """After an orderly end its socket and the files beside its store have to be made anew."""
    box = crowd.box
    box.configure(SOON)
    crowd.start("key_error")
    crowd.sound()
    box.command("stop")
    fill_bytes(box.state)
    fill_inodes(box.state)
    assert free(box.state) == (0, 0)
    box.command("start")
    crowd.go("key-error")
    crowd.push("key-error", "KeyError")


@pytest.mark.system
def test_a_store_that_is_deleted_while_it_is_in_use(crowd: Crowd) -> None:
    box = crowd.box
    crowd.start("key_error")
    crowd.sound()
    (box.state / "middlewatch.sqlite").unlink()
    crowd.go("key-error")
    crowd.push("key-error", "KeyError")
    box.push(lambda p: "has lost its memory" in p.title, "the push about the store")
    assert [i["class"] for i in box.ask("incidents", all=True) if i["class"] == "python_exception"]
    kill_daemon(box)
    box.command("start")
    assert box.status(crowd.ids["key-error"])["state"] == "failed"
    assert len(crowd.opened("key-error")) == 1


@pytest.mark.system
def test_the_state_directory_is_taken_away(crowd: Crowd) -> None:
    """Unmounted under the daemon: it begins anew in the directory that is there now."""
    box = crowd.box
    crowd.start("key_error")
    crowd.sound()
    pid = box.ask("ping")["pid"]
    subprocess.run(["umount", "-l", str(box.state)], check=True)
    box.push(lambda p: "has lost its memory" in p.title, "the push about the state")
    crowd.go("key-error")
    crowd.push("key-error", "KeyError")
    run = crowd.ids["key-error"]
    box.until(lambda: box.status(run)["state"] == "failed", "the end, asked at the new socket")
    assert box.ask("ping")["pid"] == pid
    box.until(lambda: page_of(box, run) == f"# {run}: failed", "the page")
    box.command("stop")
    box.command("start")
    assert box.status(run)["state"] == "failed"
    assert len(crowd.opened("key-error")) == 1


@pytest.mark.system
def test_the_state_disk_is_read_only_at_the_start(crowd: Crowd) -> None:
    """As after an error of the disk: the kernel mounts it read-only, and the service starts again."""
    box = crowd.box
    crowd.start("key_error")
    crowd.start("healthy")
    crowd.sound()
    box.configure(SOON)
    box.command("stop")
    remount(box.state, "ro")
    box.spawn(*COMMAND, "daemon")
    box.push(lambda p: "read-only" in f"{p.title}\n{p.body}", "the push about the state")
    assert not (box.state / "middlewatch.sock").exists()
    assert spare_there(box.state)
    crowd.go("key-error")
    crowd.push("key-error", "KeyError")
    known = json.loads(box.command("runs", "--json").stdout)
    assert crowd.ids["key-error"] in [run["run"] for run in known]
    remount(box.state, "rw")
    run = crowd.ids["key-error"]
    box.until(lambda: box.status(run)["state"] == "failed", "an answer")
    box.until(lambda: page_of(box, run) == f"# {run}: failed", "the page")
    box.push(lambda p: p.title.startswith("[RESOLVED]"), "the end of the trouble")
    box.until((box.state / "middlewatch.sock").exists, "its own socket")
    assert not spare_there(box.state)
