from __future__ import annotations

import contextlib
import json
import math
import os
import pickle
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.checkpoints.followed import fingerprint_of
from middlewatch.daemon.checkpoints.index import build
from middlewatch.daemon.sources import save_order
from middlewatch.daemon.sources.checkpoint_dir import (
    FILE_PATIENCE_S,
    FOLDER_PATIENCE_S,
    LEFTOVER_FOLDER_STILL_S,
    LEFTOVER_STILL_S,
    MOST_PUT_OFF_S,
    QUIET_S,
    VERIFIER_ARGV,
    VERIFIER_DEADLINE_S,
    WRITER_PATIENCE_S,
    CheckpointDir,
)
from middlewatch.daemon.sources.far_scan import FolderSearch
from middlewatch.daemon.system.worker import JsonWorker
from middlewatch.sentinels.kit import CheckpointSeen


def tensors(count: int = 1000) -> bytes:
    """A whole safetensors file."""
    entry = {"dtype": "F32", "shape": [count], "data_offsets": [0, 4 * count]}
    header = json.dumps({"w": entry}).encode()
    return struct.pack("<Q", len(header)) + header + b"\x01\x02\x03\x04" * count


class Watch:
    """The source under a clock of our own, with the real verifier."""

    def __init__(self, *directories: Path) -> None:
        self.child = JsonWorker(VERIFIER_ARGV, VERIFIER_DEADLINE_S, walls="verifier")
        self.source = CheckpointDir([str(d) for d in directories], self.child)
        self.now = time.time()
        self.told: list[tuple[str, str]] = []

    def look(self, later_s: float = 0.0) -> list[tuple[str, str]]:
        """One look, and everything the verifier has to say to it."""
        self.now += later_s
        before = len(self.told)
        self._tell(self.source.read(self.now))
        deadline = time.monotonic() + 120
        while self.child.waiting and time.monotonic() < deadline:
            fds = list(self.source.fds())
            if select.select(fds, [], [], 0.5)[0]:
                self._tell(self.source.ready(fds[0], self.now))
        return self.told[before:]

    def _tell(self, found: Iterable[CheckpointSeen]) -> None:
        self.told += [(Path(seen.path).name, seen.state) for seen in found]

    @property
    def states(self) -> dict[str, str]:
        return {Path(seen.path).name: seen.state for seen in self.source.checkpoints()}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def watch(out: Path) -> Iterator[Watch]:
    watch = Watch(out)
    yield watch
    watch.source.close()
    deadline = time.monotonic() + 120
    while watch.child.stuck_pid is not None and time.monotonic() < deadline:
        time.sleep(0.01)


def test_a_folder_that_comes_later_and_what_was_there_before(out: Path, watch: Watch) -> None:
    assert watch.look() == []
    assert watch.source.checkpoints() == []
    assert watch.source.growing() is None
    out.mkdir()
    (out / "step_1.safetensors").write_bytes(tensors())
    (out / "step_2.safetensors").write_bytes(tensors()[:-1])
    os.utime(out / "step_1.safetensors", (1e9, 1e9))
    os.utime(out / "step_2.safetensors", (1e9 + 5, 1e9 + 5))
    assert set(watch.look()) == {
        ("step_1.safetensors", "pending"),
        ("step_2.safetensors", "pending"),
        ("step_2.safetensors", "corrupt"),
        ("step_1.safetensors", "ok"),
    }
    known = watch.source.checkpoints()
    assert [(seen.step, seen.saved_at, seen.bytes, seen.files) for seen in known] == [
        (1, 1e9, len(tensors()), 1),
        (2, 1e9 + 5, len(tensors()) - 1, 1),
    ]
    assert known[0].level == "structure"
    assert watch.look(10) == [("step_1.safetensors", "ok")]
    assert watch.source.checkpoints()[0].level == "finite"
    assert watch.look(10) == []


def test_pending_first_then_the_verdict_and_gone_when_pruned(out: Path, watch: Watch) -> None:
    out.mkdir()
    watch.look()
    path = out / "step_1.safetensors"
    path.write_bytes(tensors())
    assert watch.look(2) == [(path.name, "pending")]
    grown_at = watch.now
    assert watch.look(2) == []
    assert watch.look(2) == [(path.name, "ok")]
    assert watch.source.growing() == grown_at
    path.unlink()
    assert watch.look(2) == []
    assert watch.states == {}


def test_a_checkpoint_written_over_in_place_is_verified_again(out: Path, watch: Watch) -> None:
    out.mkdir()
    path = out / "last.safetensors"
    path.write_bytes(tensors())
    watch.look(10)
    watch.look(10)
    assert watch.states == {path.name: "ok"}
    with path.open("r+b") as file:
        file.truncate(100)
    assert watch.look(2) == [(path.name, "pending")]
    assert watch.look(FILE_PATIENCE_S + 1) == [(path.name, "corrupt")]
    path.write_bytes(tensors(2000))
    watch.look(2)
    watch.look(4)
    assert watch.states == {path.name: "ok"}


def test_a_temporary_and_a_rename(out: Path, watch: Watch) -> None:
    out.mkdir()
    watch.look()
    temporary = out / "step_5.safetensors.tmp"
    temporary.write_bytes(tensors()[:2000])
    assert watch.look(2) == []
    assert watch.source.growing() == watch.now, "bytes of a temporary are evidence of saving"
    temporary.write_bytes(tensors())
    assert watch.look(2) == []
    assert watch.source.growing() == watch.now
    assert watch.states == {}
    temporary.rename(out / "step_5.safetensors")
    watch.look(2)
    watch.look(4)
    assert watch.states == {"step_5.safetensors": "ok"}


def test_leftovers_are_told_apart_when_nobody_touches_them(out: Path, watch: Watch) -> None:
    out.mkdir()
    (out / "tmp-checkpoint-500").mkdir()
    (out / "tmp-checkpoint-500" / "model.safetensors").write_bytes(tensors())
    (out / "step_5.pt.tmp").write_bytes(b"half")
    watch.look(2)
    assert watch.look(LEFTOVER_STILL_S - 5) == []
    assert watch.look(7) == [("step_5.pt.tmp", "incomplete")]
    assert watch.look(LEFTOVER_FOLDER_STILL_S) == [("tmp-checkpoint-500", "incomplete")]
    assert watch.look(700) == []
    assert watch.states == {}
    (out / "step_5.pt.tmp").unlink()
    assert watch.look(2) == [("step_5.pt.tmp", "pending")]
    (out / "tmp-checkpoint-500" / "optimizer.pt").write_bytes(b"goes on")
    assert watch.look(2) == [("tmp-checkpoint-500", "pending")]


def test_a_temporary_that_is_held_open_is_no_leftover(writer: Writer, watch: Watch) -> None:
    writer.write(b"half")
    path = writer.path.rename(writer.path.with_suffix(".tmp"))
    for _ in range(6):
        assert watch.look(30) == []
    writer.end(signal.SIGKILL)
    watch.look(30)
    assert watch.told == [(path.name, "incomplete")]


def test_after_a_kill_of_the_run_it_is_told_at_once(writer: Writer, watch: Watch) -> None:
    writer.write(b"half")
    path = writer.path.rename(writer.path.with_suffix(".tmp"))
    watch.look(2)
    writer.end(signal.SIGKILL)
    watch.source.writer_gone = True
    watch.look(2)
    watch.look(2)
    assert watch.told == [(path.name, "incomplete")]


def torch_file(
    path: Path, *, flip: bool = False, without: bool = False, mebibytes: int = 0
) -> None:
    """An archive as torch.save writes it: records that are not packed, each with its CRC."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("step_1/data.pkl", pickle.dumps({"step": 3}, protocol=2))
        archive.writestr("step_1/data/0", bytes(range(256)) * 1000)
        archive.writestr("step_1/data/1", bytes(mebibytes << 20))
    if without:
        data = bytearray(path.read_bytes())
        for magic, place in ((b"PK\3\4", 14), (b"PK\1\2", 16)):
            for found in re.finditer(re.escape(magic), bytes(data)):
                data[found.start() + place : found.start() + place + 4] = bytes(4)
        path.write_bytes(data)
    if flip:
        flip_bit(path)


def flip_bit(path: Path) -> None:
    """In the middle of the tensor; the times are set back, as a careful hand would."""
    before = path.stat()
    with path.open("r+b") as file:
        file.seek(before.st_size // 2)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 4]))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_data_is_read_when_all_is_quiet(out: Path, watch: Watch) -> None:
    out.mkdir()
    watch.look()
    torch_file(out / "step_1.pt")
    watch.look(2)
    assert watch.look(4) == [("step_1.pt", "ok")]
    assert [seen.level for seen in watch.source.checkpoints()] == ["structure"]
    assert watch.look(QUIET_S) == [("step_1.pt", "ok")]
    assert [seen.level for seen in watch.source.checkpoints()] == ["finite"]
    assert watch.look(10) == []


def test_a_run_that_always_saves_is_verified_too(out: Path, watch: Watch) -> None:
    out.mkdir()
    watch.look()
    torch_file(out / "step_1.pt", mebibytes=65)
    watch.look(2)
    watch.look(4)
    began = watch.now
    while {seen.level for seen in watch.source.checkpoints()} != {"finite"}:
        with (out / "step_2.pt.tmp").open("ab") as file:
            file.write(bytes(10))
        watch.look(3)
        assert watch.now - began < MOST_PUT_OFF_S + 10
    assert watch.now - began > MOST_PUT_OFF_S - 10


def test_a_small_one_is_read_while_others_are_saved(out: Path, watch: Watch) -> None:
    out.mkdir()
    watch.look()
    torch_file(out / "step_1.pt")
    watch.look(2)
    for _ in range(3):
        with (out / "step_2.pt.tmp").open("ab") as file:
            file.write(bytes(10))
        watch.look(2)
    assert [seen.level for seen in watch.source.checkpoints()] == ["finite"]


def test_a_good_checkpoint_in_which_a_bit_is_flipped(out: Path, watch: Watch) -> None:
    out.mkdir()
    watch.look()
    torch_file(out / "step_1.pt")
    for _ in range(8):
        watch.look(4)
    flip_bit(out / "step_1.pt")
    began = watch.now
    while watch.states["step_1.pt"] != "corrupt":
        watch.look(2)
        assert watch.now - began < 60
    (known,) = watch.source.checkpoints()
    assert known.level == "checksum"
    assert "does not match its checksum" in known.detail


def test_checksums_that_were_left_out_are_no_fault(out: Path, watch: Watch) -> None:
    out.mkdir()
    watch.look()
    torch_file(out / "step_1.pt", without=True, flip=True)
    for _ in range(8):
        watch.look(4)
    (known,) = watch.source.checkpoints()
    assert (known.state, known.level) == ("ok", "finite")
    assert "left the checksums out" in known.detail


def test_of_old_checkpoints_only_the_newest_is_read(out: Path, watch: Watch) -> None:
    out.mkdir()
    for number in (1, 2, 3):
        torch_file(out / f"step_{number}.pt")
        os.utime(out / f"step_{number}.pt", (1e9 + number, 1e9 + number))
    for _ in range(8):
        watch.look(4)
    assert [seen.level for seen in watch.source.checkpoints()] == [
        "structure",
        "structure",
        "finite",
    ]


def test_small_ones_are_read_one_after_the_other(out: Path, watch: Watch) -> None:
    out.mkdir()
    watch.look()
    for number in range(1, 7):
        torch_file(out / f"step_{number}.pt")
    watch.look(2)
    watch.look(4)
    watch.look(QUIET_S)
    assert {seen.level for seen in watch.source.checkpoints()} == {"finite"}


def index_of(watch: Watch) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = build("r", watch.source.checkpoints(), watch.now)["checkpoints"]
    return found


@pytest.mark.parametrize("later", [False, True])
def test_what_a_killed_watch_had_not_read(out: Path, watch: Watch, later: bool) -> None:
    out.mkdir()
    watch.look()
    for number in (1, 2, 3):
        torch_file(out / f"step_{number}.pt")
    watch.look(2)
    watch.look(3)
    assert {seen.level for seen in watch.source.checkpoints()} == {"structure"}
    other = Watch(out)
    since = math.inf if later else 0.0
    other.source = CheckpointDir([str(out)], other.child, earlier=index_of(watch), since=since)
    try:
        other.now = watch.now
        for _ in range(4):
            other.look(4)
        levels = [seen.level for seen in other.source.checkpoints()]
        assert levels.count("finite") == (1 if later else 3)
    finally:
        other.source.close()


def test_what_an_earlier_watch_knew_holds_until_it_is_verified_again(
    out: Path, watch: Watch
) -> None:
    out.mkdir()
    watch.look()
    for number in (1, 2):
        torch_file(out / f"step_{number}.pt")
    for _ in range(4):
        watch.look(4)
    before = watch.source.checkpoints()
    torch_file(out / "step_2.pt", flip=True)
    torch_file(out / "step_3.pt")
    other = Watch(out)
    other.source = CheckpointDir([str(out)], other.child, earlier=index_of(watch))
    try:
        other.source.read(watch.now + 1)
        known = {Path(seen.path).name: seen for seen in other.source.checkpoints()}
        assert replace(known["step_1.pt"], at=0.0) == replace(before[0], at=0.0)
        assert {known[f"step_{n}.pt"].state for n in (2, 3)} == {"pending"}
    finally:
        other.source.close()


def test_a_rescan_believes_nothing(out: Path, watch: Watch) -> None:
    out.mkdir()
    watch.look()
    torch_file(out / "step_1.pt")
    for _ in range(4):
        watch.look(4)
    (before,) = watch.source.checkpoints()
    assert (before.level, before.digest is None) == ("finite", False)
    watch.source.rescan(watch.now)
    assert watch.look(0.5) == [("step_1.pt", "ok")]
    assert [seen.level for seen in watch.source.checkpoints()] == ["structure"]
    assert watch.look(2) == [("step_1.pt", "ok")]
    (after,) = watch.source.checkpoints()
    assert after.at > before.at
    assert after.digest == before.digest


def test_a_rescan_finds_bytes_that_changed_by_themselves(out: Path, watch: Watch) -> None:
    out.mkdir()
    path = out / "step_1.safetensors"
    watch.look()
    path.write_bytes(tensors())
    for _ in range(4):
        watch.look(4)
    (before,) = watch.source.checkpoints()
    stat = path.stat()
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    followed = watch.source._followed[str(path)]
    followed.fingerprint = fingerprint_of(
        followed.place
    )  # a disk that lies changes no inode either
    for _ in range(2):
        watch.source.rescan(watch.now)
        watch.look(0.5)
        watch.look(2)
        (after,) = watch.source.checkpoints()
        assert (after.state, after.level) == ("corrupt", "checksum")
        assert "although nobody wrote it" in after.detail
        assert after.digest == before.digest


def test_a_bit_that_flips_where_no_checksum_is(out: Path, watch: Watch) -> None:
    out.mkdir()
    watch.look()
    (out / "step_1.safetensors").write_bytes(tensors())
    for _ in range(8):
        watch.look(4)
    (before,) = watch.source.checkpoints()
    assert (before.state, before.level) == ("ok", "finite")
    flip_bit(out / "step_1.safetensors")
    began = watch.now
    while watch.states["step_1.safetensors"] != "corrupt":
        watch.look(2)
        assert watch.now - began < 60
    (known,) = watch.source.checkpoints()
    assert (known.level, known.digest) == ("checksum", before.digest)
    since = known.detail
    assert "although nobody wrote it" in since
    watch.source.rescan(watch.now)  # known to be bad until its data was read again, and then
    for _ in range(6):
        watch.look(1)
        (known,) = watch.source.checkpoints()
        assert (known.state, known.detail) == ("corrupt", since)


def test_who_touches_a_checkpoint_does_not_harm_it(out: Path, watch: Watch) -> None:
    out.mkdir()
    watch.look()
    path = out / "step_1.safetensors"
    path.write_bytes(tensors())
    for _ in range(8):
        watch.look(4)
    (before,) = watch.source.checkpoints()
    path.chmod(0o600)
    for _ in range(20):
        watch.look(4)
    (after,) = watch.source.checkpoints()
    assert (after.state, after.level, after.digest) == ("ok", "finite", before.digest)
    assert after.at > before.at
    path.write_bytes(tensors()[:-1] + b"\x40")  # saved anew, by somebody who may
    for _ in range(20):
        watch.look(4)
    (after,) = watch.source.checkpoints()
    assert (after.state, after.level) == ("ok", "finite")
    assert after.digest not in (None, before.digest)


def test_a_folder_that_is_cut_later_is_told_within_a_minute(out: Path, watch: Watch) -> None:
    (out / "checkpoint-5").mkdir(parents=True)
    for name in ("model.safetensors", "optimizer.safetensors"):
        (out / "checkpoint-5" / name).write_bytes(tensors())
    (out / "checkpoint-5" / "trainer_state.json").write_text('{"global_step": 5}')
    for _ in range(30):
        watch.look(4)
    assert watch.states == {"checkpoint-5": "ok"}
    os.truncate(out / "checkpoint-5" / "model.safetensors", 2000)
    began = watch.now
    while watch.states["checkpoint-5"] != "corrupt":
        watch.look(2)
        assert watch.now - began <= 60


def test_a_folder_is_one_checkpoint_and_is_waited_for(out: Path, watch: Watch) -> None:
    out.mkdir()
    watch.look()
    folder = out / "checkpoint-500"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(tensors())
    assert watch.look(2) == [(folder.name, "pending")]
    assert watch.look(4) == []
    (seen,) = watch.source.checkpoints()
    assert "trainer_state.json is missing" in seen.detail
    (folder / "trainer_state.json").write_text('{"global_step": 500, "epoch": 1.5}')
    assert watch.look(30) == []
    assert watch.look(4) == [(folder.name, "ok")]
    (seen,) = watch.source.checkpoints()
    assert (seen.format, seen.step, seen.epoch, seen.files) == ("hf", 500, 1.5, 2)


def test_a_folder_whose_save_never_ends_is_incomplete(out: Path, watch: Watch) -> None:
    folder = out / "checkpoint-500"
    folder.mkdir(parents=True)
    watch.look()
    (folder / "model.safetensors").write_bytes(tensors())
    watch.look(2)
    watch.look(4)
    assert watch.states == {folder.name: "pending"}
    assert watch.look(FOLDER_PATIENCE_S) == [(folder.name, "incomplete")]


@pytest.mark.parametrize("end", ["the next save has less too", "the next has all", "killed"])
def test_what_only_the_saves_before_have_is_waited_for(out: Path, watch: Watch, end: str) -> None:
    def save(step: int, *parts: str) -> str:
        folder = out / f"save_{step}"
        folder.mkdir(parents=True)
        for part in parts:
            (folder / f"{part}.safetensors").write_bytes(tensors(1000 + step))
        return folder.name

    save(100, "model", "optimizer")
    save(200, "model", "optimizer")
    watch.look()
    fewer = save(300, "model")
    watch.look(2)
    watch.look(4)
    assert watch.look(2 * FOLDER_PATIENCE_S) == []
    assert watch.states[fewer] == "pending"
    if end == "killed":
        watch.source.writer_gone = True
    else:
        save(400, "model", *(["optimizer"] if end == "the next has all" else []))
    for _ in range(40):
        watch.look(FOLDER_PATIENCE_S)
        if watch.states[fewer] != "pending":
            break
    less = end == "the next save has less too"
    assert watch.states[fewer] == ("ok" if less else "incomplete")


def test_a_folder_of_pictures_is_no_checkpoint(out: Path, watch: Watch) -> None:
    (out / "step_100" / "samples").mkdir(parents=True)
    (out / "step_100" / "samples" / "a.png").write_bytes(b"picture")
    assert watch.look(100) == []
    assert watch.states == {}


def test_shards_and_their_index_are_one_checkpoint(out: Path, watch: Watch) -> None:
    out.mkdir()
    shards = [f"model-{n:05}-of-00002.safetensors" for n in (1, 2)]
    for shard in shards:
        (out / shard).write_bytes(tensors())
    weights = {"weight_map": {"w": shards[0]}, "metadata": {}}
    (out / "model.safetensors.index.json").write_text(json.dumps(weights))
    watch.look(10)
    (seen,) = watch.source.checkpoints()
    assert (seen.state, seen.files) == ("ok", 3)
    assert seen.bytes > 2 * len(tensors())


SLOW_WRITER = """
import sys, time
sys.stdout.write("ready\\n"); sys.stdout.flush()
with open(sys.argv[1], "wb", 0) as file:
    for line in sys.stdin:
        file.write(bytes.fromhex(line))
        sys.stdout.write("written\\n"); sys.stdout.flush()
"""


class Writer:
    """A process that writes when it is told to, and not otherwise."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.process = subprocess.Popen(
            [sys.executable, "-c", SLOW_WRITER, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._said("ready")

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data.hex() + "\n")
        self.process.stdin.flush()
        self._said("written")

    def _said(self, word: str) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline().strip() == word

    def end(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


@pytest.fixture
def writer(out: Path) -> Iterator[Writer]:
    out.mkdir()
    writer = Writer(out / "step_9.safetensors")
    yield writer
    writer.end()


def test_a_slow_writer_is_given_its_time(writer: Writer, watch: Watch) -> None:
    data = tensors(40)
    for start in range(0, len(data), 50):
        writer.write(data[start : start + 50])
        watch.look(2)
        assert watch.states == {"step_9.safetensors": "pending"}
        assert watch.source.growing() in (watch.now, None)
    assert watch.look(2) == []
    assert watch.look(2) == [("step_9.safetensors", "ok")]


def test_a_writer_that_stops_in_the_middle_is_waited_for(writer: Writer, watch: Watch) -> None:
    data = tensors(40)
    writer.write(data[:60])
    watch.look(2)
    for _ in range(10):
        watch.look(30)
        assert watch.states == {"step_9.safetensors": "pending"}, "it holds the file open"
    writer.write(data[60:])
    watch.look(2)
    watch.look(4)
    assert watch.states == {"step_9.safetensors": "ok"}


def test_a_writer_that_is_killed_leaves_a_corrupt_file(writer: Writer, watch: Watch) -> None:
    writer.write(tensors(40)[:60])
    watch.look(2)
    watch.look(4)
    writer.end(signal.SIGKILL)
    assert watch.states == {"step_9.safetensors": "pending"}
    watch.look(6)
    assert watch.look(FILE_PATIENCE_S) == [("step_9.safetensors", "corrupt")]
    assert watch.look(100) == []


def test_a_writer_stuck_for_very_long_is_told(writer: Writer, watch: Watch) -> None:
    writer.write(tensors(40)[:60])
    watch.look(2)
    watch.look(4)
    assert watch.look(WRITER_PATIENCE_S) == [("step_9.safetensors", "corrupt")]


class Broken:
    """A verifier that takes questions and dies or hangs over them."""

    def __init__(self) -> None:
        self.questions = 0
        self.late = False
        self.waiting = False
        self.refuses = False

    def ask(self, message: Any, mono: float) -> bool:
        self.questions += not self.refuses
        self.waiting = self.late and not self.refuses
        return not self.refuses

    def answers(self) -> list[dict[str, Any]]:
        return []

    def fileno(self) -> int | None:
        return None

    def overdue(self, mono: float) -> float:
        return 1.0 if self.waiting else 0.0

    def restart(self) -> None:
        self.waiting = False

    def close(self) -> None:
        pass


@pytest.mark.parametrize("late", [True, False])
def test_a_verifier_that_dies_or_hangs_over_a_file(out: Path, late: bool) -> None:
    out.mkdir()
    (out / "step_1.pt").write_bytes(b"x")
    broken = Broken()
    broken.late = late
    source = CheckpointDir([str(out)], broken)
    now = time.time() + 100
    told = [seen for i in range(12) for seen in source.read(now + 4 * i)]
    assert [seen.state for seen in told] == ["pending", "unverifiable"]
    assert "verifier" in told[1].detail
    assert broken.questions == 3


def test_a_verifier_that_cannot_be_started_is_said(out: Path) -> None:
    out.mkdir()
    (out / "step_1.pt").write_bytes(b"x")
    broken = Broken()
    broken.refuses = True
    source = CheckpointDir([str(out)], broken)
    now = time.time() + 100
    list(source.read(now))
    assert source.stalled(now + 2) is None
    assert "no verifier could be started" in (source.stalled(now + 500) or "")
    broken.refuses = False
    list(source.read(now + 500))
    assert source.stalled(now + 502) is None


def test_idle_looks_are_cheap(out: Path) -> None:
    """The goal is 200 us of the processor for 20 checkpoints; the limit leaves room."""
    for step in range(20):
        folder = out / f"checkpoint-{step}"
        folder.mkdir(parents=True)
        for part in range(8):
            (folder / f"part{part}.pt").write_bytes(b"x")
    source = CheckpointDir([str(out)], Broken())
    now = time.time() + 1000
    for look in range(200):  # until every verdict is final, by failing verifiers
        list(source.read(now + 4 * look))
    assert {seen.state for seen in source.checkpoints()} == {"unverifiable"}
    best = min(_seconds_of(source, now + 2000 + i) for i in range(100))
    print(f"{best * 1e6:.0f} us")
    assert best < 1e-3
    shutil.rmtree(out)
    list(source.read(now + 3000))
    assert source.checkpoints() == []


def _seconds_of(source: CheckpointDir, now: float) -> float:
    began = time.thread_time()
    list(source.read(now))
    return time.thread_time() - began


def test_of_many_that_are_new_the_newest_are_met_first(
    out: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(save_order, "MEETS", 5)
    out.mkdir()
    for step in range(1, 13):
        path = out / f"step_{step}.safetensors"
        path.write_bytes(tensors(1))
        os.utime(path, (1e9 + step, 1e9 + step))
    watch.look()
    assert [seen.step for seen in watch.source.checkpoints()] == [8, 9, 10, 11, 12]
    for count in (10, 12, 12):
        watch.look(2.0)
        assert len(watch.source.checkpoints()) == count


def test_one_more_verdict_costs_the_same_beside_many(
    out: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 60
    out.mkdir()
    for step in range(count):
        path = out / f"step_{step}.safetensors"
        path.write_bytes(tensors(1))
        os.utime(path, (1e9 + step, 1e9 + step))
    looked_at: list[str] = []
    really = FolderSearch.is_stalled

    def counted(search: FolderSearch, path: str) -> bool:
        looked_at.append(path)
        return really(search, path)

    monkeypatch.setattr(FolderSearch, "is_stalled", counted)
    scans = 0
    while list(watch.states.values()).count("ok") < count:
        watch.look(2.0)
        scans += 1
    # Once a scan all that are known may be looked at, twice; and each when it is asked about and answered.
    assert len(looked_at) <= count * (2 * scans + 4)
    assert scans < count / 10


def test_reading_one_more_costs_the_same_beside_many(
    out: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 60
    out.mkdir()
    watch.look()
    for step in range(count):
        (out / f"step_{step}.safetensors").write_bytes(tensors(1))
    looked_at: list[str] = []
    really = FolderSearch.is_stalled

    def counted(search: FolderSearch, path: str) -> bool:
        looked_at.append(path)
        return really(search, path)

    monkeypatch.setattr(FolderSearch, "is_stalled", counted)
    scans = 0
    while [seen.level for seen in watch.source.checkpoints()].count("finite") < count:
        watch.look(2.0)
        scans += 1
    # Once a scan all may be looked at, three times; and each when it is asked about and answered, twice.
    assert len(looked_at) <= count * (3 * scans + 8)
    assert scans < count / 10
