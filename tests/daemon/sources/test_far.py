"""Logs and checkpoints on a file system whose server is stopped: only a child waits for it."""

from __future__ import annotations

import json
import os
import select
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.box.platforms import _Box
from middlewatch.daemon.mirror.source import _around
from middlewatch.daemon.service.context import FAR_ARGV
from middlewatch.daemon.sources.checkpoint_dir import (
    VERIFIER_ARGV,
    VERIFIER_DEADLINE_S,
    CheckpointDir,
)
from middlewatch.daemon.sources.disk import Disks
from middlewatch.daemon.sources.far_copies import FarCopies
from middlewatch.daemon.sources.log_tail import LogTail
from middlewatch.daemon.system.far import RESOLVE_S, SLOW_S, Far, FarMounts
from middlewatch.daemon.system.guard import DEADLINE_S, GIVE_UP_S, Guards
from middlewatch.daemon.system.mounts import real_path
from middlewatch.daemon.system.source import Source
from middlewatch.daemon.system.worker import JsonWorker
from middlewatch.sentinels.kit import CheckpointSeen, DiskSample, LogGrowth

from ...fakes.clock import FakeClock
from ...fakes.fuse_folder import FuseFolder
from .test_checkpoint_dir import tensors
from .test_log_tail import Lines

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount FUSE without a helper"),
    pytest.mark.skipif(not os.path.exists("/dev/fuse"), reason="no /dev/fuse on this box"),
]


class Stage:
    """A folder, the same folder through FUSE, and the guards under a clock of our own."""

    def __init__(self, root: Path) -> None:
        self.behind, self.far, self.near = root / "behind", root / "far", root / "near"
        for folder in (self.behind, self.far, self.near):
            folder.mkdir()
        self.fuse = FuseFolder(self.behind, self.far)
        self.clock = FakeClock(now=time.time())
        self.guards = Guards(FAR_ARGV, self.clock)
        self.sources: list[Source] = []

    def tail(self, path: Path, **options: Any) -> tuple[LogTail, Lines]:
        reader = options.pop("reader", None) or Lines()
        tail = LogTail(str(path), reader, None, guards=self.guards, **options)
        self.sources.append(tail)
        return tail, reader

    def saves(self, *folders: Path, **options: Any) -> CheckpointDir:
        child = JsonWorker(VERIFIER_ARGV, VERIFIER_DEADLINE_S, walls="verifier")
        made = CheckpointDir([str(f) for f in folders], child, guards=self.guards, **options)
        self.sources.append(made)
        return made

    def read(self, source: Source, seconds: float = 1.0) -> list[Any]:
        """One read, which is over at once."""
        self.clock.jump(seconds)
        return list(source.read(self.clock.now()))

    def hear(self, source: Source, seconds: float = 1.0) -> list[Any]:
        """One read, and what the children answer to it."""
        found = self.read(source, seconds)
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline:
            ready = select.select(list(source.fds()), [], [], 0.3)[0]
            if not ready:
                break
            for fd in ready:
                found += source.ready(fd, self.clock.now())
        return found

    def until(self, source: Source, what: Any) -> list[Any]:
        """Read until ``what()`` is true; what was seen meanwhile."""
        deadline = time.monotonic() + 180
        found: list[Any] = []
        while not what():
            assert time.monotonic() < deadline
            found += self.hear(source)
        return found

    def late(self, source: Source) -> str:
        """What is overdue; a child that still works on it is given real time."""
        deadline = time.monotonic() + 180
        while (late := source.stalled(self.clock.now())) is None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return late

    def close(self) -> None:
        for source in self.sources:
            source.close()
        self.guards.close()
        self.fuse.close()


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    try:
        made = Stage(tmp_path)
    except OSError as error:
        pytest.skip(str(error))
    yield made
    made.close()


def test_what_is_far_is_told_without_touching_it(stage: Stage) -> None:
    stage.fuse.stop()
    (stage.near / "link").symlink_to(stage.far / "deep")
    mounts = FarMounts()
    for path in (
        stage.far,
        stage.far / "a" / "b",
        stage.near / "link" / "x",
        stage.near / ".." / "far",
    ):
        far = mounts.of(str(path), 1.0)
        assert far is not None
        assert str(far) == f"{stage.far} (fuse.test)"
    assert mounts.of(str(stage.near / "x"), 1.0) is None
    assert mounts.of(f"/proc/{os.getpid()}/root{stage.near}", 1.0) is None
    assert mounts.of(f"/proc/{os.getpid()}/root{stage.far}/x", 1.0) is not None
    assert [str(far) for far in mounts.below(str(stage.near.parent)).values()] == [
        f"{stage.far} (fuse.test)"
    ]
    mounts.close()


def test_an_open_file_and_a_working_directory_lead_to_their_mount(stage: Stage) -> None:
    (stage.behind / "a.log").write_text("x\n")
    here = os.getcwd()
    fd = os.open(stage.far / "a.log", os.O_RDONLY)
    try:
        os.chdir(stage.far)
        mounts = FarMounts()
        assert mounts.of(f"/proc/{os.getpid()}/fd/{fd}", 1.0) is not None
        assert mounts.of(f"/proc/{os.getpid()}/cwd/a.log", 1.0) is not None
        mounts.close()
    finally:
        os.chdir(here)
        os.close(fd)


def test_a_link_that_is_turned_is_followed_again(stage: Stage) -> None:
    link = stage.near / "link"
    link.symlink_to(stage.near)
    mounts = FarMounts()
    assert mounts.of(str(link), 1.0) is None
    link.unlink()
    link.symlink_to(stage.far)
    assert mounts.of(str(link), 1.0 + RESOLVE_S) is not None
    mounts.close()


def test_a_file_system_that_was_slow_is_not_touched_for_a_while(stage: Stage) -> None:
    mounts = FarMounts()
    path = str(stage.near / "x")
    assert mounts.of(path, 1.0) is None
    mounts.was_slow(path, 1.0)
    assert mounts.of(path, 2.0) is not None
    assert mounts.of(path, 1e6) is None
    mounts.close()


def test_a_far_log_is_read_by_a_child(stage: Stage) -> None:
    log = stage.behind / "a.log"
    log.write_text("a\nb\nhal")
    tail, reader = stage.tail(stage.far / "a.log")
    seen = stage.until(tail, lambda: reader.got == ["a", "b"])
    assert [(g.bytes, g.lines) for g in seen if isinstance(g, LogGrowth)] == [(7, 2)]
    with log.open("a") as file:
        file.write("f\n")
    stage.until(tail, lambda: reader.got == ["a", "b", "half"])
    assert tail.stalled(stage.clock.now()) is None


def test_a_missing_far_log_says_so(stage: Stage) -> None:
    tail, _ = stage.tail(stage.far / "none.log")
    with pytest.raises(FileNotFoundError):
        stage.until(tail, lambda: False)


def test_a_long_far_log_comes_in_parts(stage: Stage) -> None:
    lines = [f"{n} {'x' * 100}" for n in range(20_000)]
    (stage.behind / "a.log").write_text("\n".join(lines) + "\n")
    tail, reader = stage.tail(stage.far / "a.log")
    stage.until(tail, lambda: len(reader.got) == len(lines))
    assert reader.got == lines


def test_a_log_on_a_stopped_mount_loses_nothing(stage: Stage) -> None:
    log = stage.behind / "a.log"
    log.write_text("a\n")
    tail, reader = stage.tail(stage.far / "a.log")
    stage.until(tail, lambda: reader.got == ["a"])
    stage.fuse.stop()
    with log.open("a") as file:
        file.write("b\n")
    for _ in range(40):
        assert stage.read(tail) == []
    late = stage.late(tail)
    assert f"{stage.far} (fuse.test) does not answer" in late
    assert "from byte 2" in late
    stage.fuse.go_on()
    stage.until(tail, lambda: reader.got == ["a", "b"])
    assert tail.stalled(stage.clock.now()) is None


def test_a_child_that_never_answers_is_replaced(stage: Stage) -> None:
    log = stage.behind / "a.log"
    log.write_text("a\n")
    tail, reader = stage.tail(stage.far / "a.log")
    stage.until(tail, lambda: reader.got == ["a"])
    stage.fuse.stop()
    stage.read(tail)
    stage.read(tail, DEADLINE_S + GIVE_UP_S + 1)
    with log.open("a") as file:
        file.write("b\n")
    stage.fuse.go_on()
    stage.until(tail, lambda: len(reader.got) > 1)
    assert reader.got == ["a", "b"]


def test_the_daemon_may_restart_while_the_mount_is_stopped(stage: Stage) -> None:
    log = stage.behind / "a.log"
    log.write_text("a\n")
    tail, before = stage.tail(stage.far / "a.log")
    stage.until(tail, lambda: before.got == ["a"])
    stage.fuse.stop()
    with log.open("a") as file:
        file.write("b\n")
    stage.read(tail)
    saved = json.loads(json.dumps(tail.state()))
    tail.close()
    again, reader = stage.tail(stage.far / "a.log", offset=saved, reader=Lines(saved["reader"]))
    stage.read(again)
    assert again.state()["offset"] == saved["offset"]
    stage.fuse.go_on()
    stage.until(again, lambda: reader.got == ["b"])


def test_a_mount_over_a_local_log_moves_it_to_a_child_and_back(stage: Stage) -> None:
    stage.fuse.close()
    log = stage.far / "a.log"  # below the mount point: local as long as nothing is mounted
    log.write_text("a\n")
    tail, reader = stage.tail(log)
    stage.hear(tail)
    assert not tail.answers_later
    (stage.behind / "a.log").write_text("a\nb\n")
    stage.fuse = FuseFolder(stage.behind, stage.far)
    stage.until(tail, lambda: reader.got != ["a"])
    assert tail.answers_later
    assert reader.got == ["a", "b"]


def test_a_slow_local_log_is_left_to_a_child(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    log = stage.near / "a.log"
    log.write_text("a\n")
    tail, reader = stage.tail(log)
    real = os.pread

    def slow(*args: Any) -> bytes:
        stage.clock.jump(SLOW_S + 1)
        return real(*args)

    with monkeypatch.context() as patched:
        patched.setattr(os, "pread", slow)
        stage.read(tail)
    with log.open("a") as file:
        file.write("b\n")
    stage.until(tail, lambda: reader.got == ["a", "b"])
    assert tail.answers_later


def names(source: CheckpointDir) -> dict[str, str]:
    return {Path(c.path).name: c.state for c in source.checkpoints()}


def test_far_checkpoints_are_found_and_verified(stage: Stage) -> None:
    source = stage.saves(stage.far / "out")
    assert stage.hear(source) == []
    (stage.behind / "out").mkdir()
    (stage.behind / "out" / "step_1.safetensors").write_bytes(tensors())
    stage.until(source, lambda: names(source) == {"step_1.safetensors": "ok"})
    (stage.behind / "out" / "step_1.safetensors").unlink()
    stage.until(source, lambda: names(source) == {})


def test_a_stopped_mount_keeps_what_is_known_and_the_other_folder_goes_on(stage: Stage) -> None:
    (stage.behind / "step_1.safetensors").write_bytes(tensors())
    source = stage.saves(stage.far, stage.near)
    stage.until(source, lambda: names(source) == {"step_1.safetensors": "ok"})
    stage.fuse.stop()
    for _ in range(40):
        stage.read(source)
    late = stage.late(source)
    assert late == f"{stage.far} (fuse.test) does not answer: {stage.far}"
    (stage.near / "step_2.safetensors").write_bytes(tensors())
    both = {"step_1.safetensors": "ok", "step_2.safetensors": "ok"}
    stage.until(source, lambda: names(source) == both)
    stage.fuse.go_on()
    (stage.behind / "step_3.safetensors").write_bytes(tensors())
    stage.until(source, lambda: names(source) == {**both, "step_3.safetensors": "ok"})
    assert source.stalled(stage.clock.now()) is None


def test_the_index_of_before_counts_until_the_mount_answers(stage: Stage) -> None:
    (stage.behind / "step_1.safetensors").write_bytes(tensors())
    first = stage.saves(stage.far)
    stage.until(first, lambda: names(first) == {"step_1.safetensors": "ok"})
    (known,) = first.checkpoints()
    first.close()
    from middlewatch.daemon.checkpoints.index import build

    entries = build("run", [known], stage.clock.now())["checkpoints"]
    stage.fuse.stop()
    again = stage.saves(stage.far, earlier=entries)
    stage.read(again)
    (told,) = again.checkpoints()
    assert (told.path, told.state, told.bytes) == (known.path, "ok", known.bytes)
    stage.fuse.go_on()
    stage.until(
        again, lambda: names(again) == {"step_1.safetensors": "ok"} and not again._search.unheard()
    )


@pytest.mark.parametrize("way", ["a mount in it", "a link in it"])
def test_a_local_folder_with_something_far_in_it_never_blocks(stage: Stage, way: str) -> None:
    folder = stage.near.parent if way == "a mount in it" else stage.near
    if way == "a link in it":
        (stage.near / "more").symlink_to(stage.far)
    (stage.near / "step_2.safetensors").write_bytes(tensors())
    stage.fuse.stop()
    source = stage.saves(folder)
    for _ in range(40):
        stage.read(source)
    assert "does not answer" in stage.late(source)
    stage.fuse.go_on()
    stage.until(source, lambda: "step_2.safetensors" in names(source))


def test_a_linked_far_shard_is_not_followed(stage: Stage) -> None:
    save = stage.near / "checkpoint-5"
    save.mkdir()
    (stage.behind / "model.safetensors").write_bytes(tensors())
    (save / "model.safetensors").symlink_to(stage.far / "model.safetensors")
    (save / "config.json").write_text("{}")
    source = stage.saves(stage.near)
    stage.fuse.stop()
    for _ in range(40):
        stage.read(source)
    assert isinstance(source.checkpoints(), list)
    assert all(isinstance(c, CheckpointSeen) for c in source.checkpoints())


def test_all_logs_of_a_mount_share_one_child(stage: Stage) -> None:
    tails = []
    for name in ("a.log", "b.log", "c.log"):
        (stage.behind / name).write_text(f"{name}\n")
        tails.append(stage.tail(stage.far / name))
    for tail, _ in tails:
        stage.read(tail)
    fds = {fd for tail, _ in tails for fd in tail.fds()}
    assert len(fds) == 1
    for tail, reader in tails:
        stage.until(tail, lambda reader=reader: reader.got)
    assert [reader.got for _, reader in tails] == [["a.log"], ["b.log"], ["c.log"]]
    for tail, _ in tails:
        tail.close()
    assert not list(tails[0][0].fds())


def test_status_files_reach_a_far_folder_as_soon_as_it_answers(tmp_path: Path) -> None:
    clock = FakeClock(now=time.time())
    guards = Guards(FAR_ARGV, clock)
    copies = FarCopies(guards)
    own, theirs = tmp_path / "own.md", tmp_path / "theirs" / "run" / "own.md"
    far = Far("0:50", str(tmp_path), "nfs4")
    for text in ("one", "two"):
        own.write_text(text)
        copies.want(str(own), str(theirs), far)
        deadline = time.monotonic() + 180
        while not theirs.exists() or theirs.read_text() != text:
            assert time.monotonic() < deadline
            copies.read(clock.now())
            select.select(list(copies.fds()), [], [], 0.1)
    assert copies.trouble == ""
    copies.want(str(own), "/proc/none/x", far)
    deadline = time.monotonic() + 180
    while not copies.trouble:
        assert time.monotonic() < deadline
        copies.read(clock.now())
        select.select(list(copies.fds()), [], [], 0.1)
    assert "cannot write /proc/none/x" in copies.trouble
    copies.close()
    guards.close()


def test_the_space_of_a_folder_is_asked_through_a_child_once_something_is_mounted_there(
    stage: Stage,
) -> None:
    stage.fuse.close()
    source = Disks({"checkpoints": [str(stage.far)]}, stage.clock)
    stage.sources.append(source)
    assert [type(s) for s in stage.read(source)] == [DiskSample]
    stage.fuse = FuseFolder(stage.behind, stage.far)
    stage.fuse.stop()
    for _ in range(3):
        assert stage.read(source) == []


def test_where_the_mirror_and_the_platform_look_is_not_touched(stage: Stage) -> None:
    stage.fuse.stop()
    assert real_path(f"{stage.near}/../far/x/y") == f"{stage.far}/x/y"
    assert _around(f"{stage.far}/copies", [str(stage.near)]) == ""
    assert _around(f"{stage.far}/copies", [str(stage.near), str(stage.far)]) == str(stage.far)
    signs = _Box("/", {})
    assert signs.look("file", f"{stage.far}/some/mark") == ""
    assert signs.look("file", str(stage.far)) == str(stage.far)
