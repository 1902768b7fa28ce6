"""Following a log through everything that logrotate, shells and people do to it."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from middlewatch.daemon.parsers.recurring import LiveReader
from middlewatch.daemon.sources.log_file import PRINT_BYTES, FilePosition
from middlewatch.daemon.sources.log_tail import BEAT_S, REACH_BYTES, READ_BYTES, LogTail, TailState
from middlewatch.daemon.system.errors import Unsupported
from middlewatch.daemon.system.inotify import Inotify
from middlewatch.sentinels.kit import LogGrowth

pytestmark = pytest.mark.usefixtures("with_and_without_descriptors")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="drops root's rights in a child")


class Lines:
    """A reader that only cuts lines; what it got survives in ``got``."""

    signs = None

    def __init__(self, saved: dict[str, Any] | None = None) -> None:
        self.got: list[str] = []
        self.partial = bytes.fromhex(saved["partial"]) if saved else b""
        self.lines = saved["lines"] if saved else 0

    def feed(self, data: bytes, now: float) -> list[Any]:
        *whole, self.partial = (self.partial + data).split(b"\n")
        self.lines += len(whole)
        self.got += [line.decode() for line in whole]
        return []

    def save(self) -> dict[str, Any]:
        return {"partial": self.partial.hex(), "lines": self.lines}


class Followed:
    """A log, its tail and a clock; ``restart`` goes through JSON as the store does."""

    def __init__(self, path: Path, **options: Any) -> None:
        self.path = path
        self.now = 1000.0
        self.got: list[str] = []
        self.reader = Lines()
        self.tail = LogTail(str(path), self.reader, None, pids=lambda: [os.getpid()], **options)

    def look(self, seconds: float = 1.0) -> list[str]:
        """The lines that one look brings, backlog included."""
        self.growth: list[LogGrowth] = []
        while True:
            self.now += seconds
            seen = self.tail.read(self.now)
            self.growth += [o for o in seen if isinstance(o, LogGrowth)]
            if not self.tail.more:
                break
        new, self.reader.got = self.reader.got, []
        self.got += new
        return new

    def stop(self) -> TailState:
        self.got += self.reader.got
        state: TailState = json.loads(json.dumps(self.tail.state()))
        self.tail.close()
        return state

    def start(self, state: TailState) -> None:
        self.reader = Lines(state["reader"])
        self.tail = LogTail(
            str(self.path), self.reader, None, offset=state, pids=lambda: [os.getpid()]
        )

    def restart(self) -> None:
        self.start(self.stop())


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Followed]:
    followed = Followed(tmp_path / "train.log")
    yield followed
    followed.tail.close()


def write(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def long(*numbers: int) -> str:
    """Lines long enough for a whole fingerprint."""
    return "".join(f"{n} {'x' * PRINT_BYTES}\n" for n in numbers)


def numbers(lines: list[str]) -> list[int]:
    return [int(line.split()[0]) for line in lines]


# -- growing


def test_reads_what_is_there_and_what_comes(log: Followed) -> None:
    write(log.path, "a\nb")
    assert log.look() == ["a"]
    assert log.look() == []
    write(log.path, "c\n")
    assert log.look() == ["bc"]


def test_tells_how_the_log_stands(log: Followed) -> None:
    write(log.path, "a\nb\n")
    log.look()
    assert log.growth == [LogGrowth(1001.0, str(log.path), 4, 2, 1001.0, 0)]
    log.look()
    assert log.growth == []
    write(log.path, "c" * 4096)
    log.look()
    assert log.growth == [LogGrowth(1003.0, str(log.path), 4100, 2, 1003.0, 4096)]
    log.look(BEAT_S)
    assert log.growth == [LogGrowth(1013.0, str(log.path), 4100, 2, 1003.0, 4096)]


def test_beats_again_at_once_when_the_wall_clock_jumps_back(log: Followed) -> None:
    write(log.path, "a\n")
    log.look()
    log.look(-3600.0)
    assert [g.at for g in log.growth] == [-2599.0]


def test_a_backlog_is_read_in_bounded_pieces(log: Followed) -> None:
    line = "x" * 1023 + "\n"
    write(log.path, line * 5000)
    calls = 0
    while not calls or log.tail.more:
        assert calls == 0 or log.tail.due_at == 0.0
        before = log.reader.lines
        log.tail.read(1000.0 + calls)
        assert (log.reader.lines - before) * 1024 < 2 * READ_BYTES
        calls += 1
    assert log.reader.lines == 5000
    assert calls >= 4
    assert log.tail.due_at is None


def test_can_begin_at_the_last_line(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    write(path, "old\nhalf")
    log = Followed(path, from_start=False)
    assert log.look() == []
    write(path, " done\n")
    assert log.look() == ["half done"]
    log.tail.close()


def test_a_log_that_appears_later_is_read_whole(tmp_path: Path) -> None:
    log = Followed(tmp_path / "train.log", from_start=False)
    for _ in range(2):
        with pytest.raises(FileNotFoundError, match="no such file yet"):
            log.look()
    write(log.path, "a\n")
    assert log.look() == ["a"]
    log.tail.close()


# -- rotation


@pytest.mark.parametrize("name", ["train.log.1", "train.log-20240501", "old"])
def test_rename_and_create(log: Followed, name: str) -> None:
    write(log.path, "a\n")
    log.look()
    write(log.path, "b\n")
    log.path.rename(log.path.with_name(name))
    write(log.path, "c\n")
    assert log.look() == ["b", "c"]
    assert log.tail.detail == ""


def test_half_a_line_is_not_glued_to_the_next_file(log: Followed) -> None:
    write(log.path, "a\nhalf")
    log.look()
    log.path.rename(log.path.with_name("train.log.1"))
    write(log.path, "c\n")
    assert log.look() == ["half", "c"]


def test_a_writer_that_keeps_the_old_file_is_followed(log: Followed) -> None:
    with log.path.open("a") as writer:
        writer.write("a\n")
        writer.flush()
        log.look()
        log.path.rename(log.path.with_name("train.log.1"))
        assert log.look() == []
        assert log.tail.detail.startswith("moved away")
        log.path.touch()
        writer.write("b\n")
        writer.flush()
        assert log.look() == ["b"]
        assert log.tail.detail.startswith("rotated")
    write(log.path, "c\n")
    assert log.look() == ["c"]


def test_several_rotations_between_two_looks(log: Followed) -> None:
    write(log.path, "a\n")
    log.look()
    write(log.path, "b\n")
    for text in ("c\n", "d\n", "e\n"):
        for n in (3, 2, 1):
            old = log.path.with_name(f"train.log.{n}")
            if old.exists():
                old.rename(log.path.with_name(f"train.log.{n + 1}"))
        log.path.rename(log.path.with_name("train.log.1"))
        write(log.path, text)
    assert log.look() == ["b", "c", "d", "e"]


def test_copytruncate(log: Followed) -> None:
    write(log.path, long(1))
    log.look()
    write(log.path, long(2))
    shutil.copy(log.path, log.path.with_name("train.log.1"))
    os.truncate(log.path, 0)
    write(log.path, long(3))
    assert numbers(log.look()) == [2, 3]
    write(log.path, long(4))
    assert numbers(log.look()) == [4]


def test_copytruncate_under_a_writer_that_does_not_append(log: Followed) -> None:
    with log.path.open("w") as writer:
        writer.write("x" * 100_000 + "\n")
        writer.flush()
        log.look()
        os.truncate(log.path, 0)
        writer.write("after\n")
        writer.flush()
        assert log.path.stat().st_blocks * 512 < 100_000
        assert log.look() == ["after"]
        os.truncate(log.path, 0)
        log.look()
        writer.write("again\n")
        writer.flush()
        assert log.look() == ["again"]


def test_a_log_allocated_in_advance_is_followed_as_it_fills(log: Followed) -> None:
    with log.path.open("wb", buffering=0) as writer:
        os.posix_fallocate(writer.fileno(), 0, 1 << 20)
        for number in range(3):
            writer.write(b"%d\n" % number)
            assert log.look() == [str(number)]
        assert log.look() == []


def test_truncation(log: Followed) -> None:
    write(log.path, "a\nb\nhalf")
    log.look()
    log.path.write_text("c\n")
    assert log.look() == ["half", "c"]
    assert log.growth[0].bytes == 2


def test_truncated_and_grown_past_the_old_offset_between_two_looks(log: Followed) -> None:
    write(log.path, "a\nb\n")
    log.look()
    log.path.write_text("c\nd\ne\nf\n")
    assert log.look() == ["c", "d", "e", "f"]


def test_rewritten_to_the_very_same_size(log: Followed) -> None:
    write(log.path, "a\nb\n")
    log.look()
    log.path.write_text("c\nd\n")
    os.utime(log.path, (1, 1))
    assert log.look() == ["c", "d"]


def test_touching_changes_nothing(log: Followed) -> None:
    write(log.path, "a\n")
    log.look()
    os.utime(log.path, (1, 1))
    assert log.look() == []


def test_an_old_log_with_the_same_banner_is_not_taken_for_a_copy(log: Followed) -> None:
    banner = "=" * 2 * PRINT_BYTES + "\n"
    write(log.path.with_name("train.log.old"), banner + "CUDA out of memory\n")
    time.sleep(0.02)  # the clock of the file system ticks every few milliseconds
    write(log.path, banner)
    log.look()
    log.path.write_text("fresh\n")
    assert log.look() == ["fresh"]


def test_deleted_and_created_again(log: Followed) -> None:
    with log.path.open("a") as writer:
        writer.write("a\n")
        writer.flush()
        log.look()
        log.path.unlink()
        writer.write("b\n")
        writer.flush()
        assert log.look() == ["b"]
        assert log.tail.detail == "deleted, followed through its open file"
        writer.write("c\n")
    write(log.path, "d\n")
    assert log.look() == ["c", "d"]
    assert log.tail.detail == ""


def test_the_folder_goes_and_comes_back(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    log = Followed(folder / "train.log")
    write(log.path, "a\n")
    log.look()
    shutil.rmtree(folder)
    with contextlib.suppress(
        FileNotFoundError
    ):  # where it was not kept open, and nobody else has it
        assert log.look() == []
    folder.mkdir()
    write(log.path, "b\n")
    assert log.look() == ["b"]
    log.tail.close()


def test_replaced_by_a_link(log: Followed) -> None:
    target = log.path.with_name("elsewhere")
    write(log.path, "a\n")
    log.look()
    write(target, "b\n")
    log.path.unlink()
    log.path.symlink_to(target)
    assert log.look() == ["b"]
    write(target, "c\n")
    assert log.look() == ["c"]


# -- refusals


def test_a_folder_is_refused(log: Followed) -> None:
    log.path.mkdir()
    with pytest.raises(IsADirectoryError):
        log.look()
    log.path.rmdir()
    write(log.path, "a\n")
    assert log.look() == ["a"]


def test_a_pipe_is_refused_and_left_alone(log: Followed) -> None:
    os.mkfifo(log.path)
    with pytest.raises(Unsupported, match="pipe"):
        log.look()


def test_a_device_is_refused() -> None:
    with pytest.raises(Unsupported, match="device"):
        Followed(Path("/dev/null")).look()


def test_a_folder_in_place_of_the_log_does_not_stop_the_old_file(log: Followed) -> None:
    with log.path.open("a") as writer:
        writer.write("a\n")
        writer.flush()
        log.look()
        log.path.unlink()
        log.path.mkdir()
        writer.write("b\n")
        writer.flush()
        assert log.look() == ["b"]
        assert "replaced by a directory" in log.tail.detail
        assert log.look() == []


UNREADABLE = """
import os, sys
from middlewatch.daemon.sources.log_tail import REACH_BYTES, LogTail
os.setgroups([]); os.setgid(65534); os.setuid(65534)
class Reader:
    lines = 0
    signs = None
    got = b""
    def feed(self, data, now):
        self.got += data
        return []
    def save(self):
        return {}
reader = Reader()
tail = LogTail(sys.argv[1], reader, None)
for now in range(int(sys.argv[2])):
    try:
        tail.read(float(now))
        print(reader.got, flush=True)
    except PermissionError:
        print("refused", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory(prefix="middlewatch-") as folder:
        path = Path(folder)
        path.chmod(0o755)
        yield path


@needs_root
def test_an_unreadable_log_is_read_as_soon_as_it_may_be(open_folder: Path) -> None:
    path = open_folder / "train.log"
    path.write_text("a")
    path.chmod(0)

    def allow() -> None:
        path.chmod(0o644)

    def rotate() -> None:
        write(path, "b")
        path.rename(path.with_name("train.log.1"))
        path.write_text("c")
        path.chmod(0)

    said = []
    with subprocess.Popen(
        [sys.executable, "-c", UNREADABLE, str(path), "5"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        for change in (allow, rotate, lambda: None, allow, lambda: None):
            said.append(child.stdout.readline().strip())
            change()
            child.stdin.write("\n")
            child.stdin.flush()
    # While the new file must not be read, the rest of the old one still comes.
    assert said == ["refused", "b'a'", "b'ab'", "refused", "b'ab\\nc'"]


# -- without a name


def test_via_a_process_that_holds_a_deleted_log(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    script = "import sys\nfor line in sys.stdin: print(line, end='', flush=True)"
    with path.open("w") as out:
        child = subprocess.Popen(
            [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=out, text=True
        )
    path.unlink()
    write(path, "of somebody else\n")
    log = Followed(path, via=f"/proc/{child.pid}/fd/1")
    with child:
        assert child.stdin is not None
        assert log.look() == []
        child.stdin.write("a\n")
        child.stdin.flush()
        deadline = time.monotonic() + 120
        while not log.got and time.monotonic() < deadline:
            log.look()
        assert log.got == ["a"]
        child.stdin.write("b\n")
    assert log.look() == ["b"]  # the process is gone, its file is still open here
    state = log.stop()
    log.tail = LogTail(str(path), Lines(), None, via=f"/proc/{child.pid}/fd/1", offset=state)
    with pytest.raises(FileNotFoundError):
        log.look()
    log.tail.close()


def test_via_another_file_after_a_restart_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "one").open("w+") as one, (tmp_path / "two").open("w+") as two:
        one.write("a\n")
        one.flush()
        log = Followed(tmp_path / "gone", via=f"/proc/self/fd/{one.fileno()}")
        assert log.look() == ["a"]
        state = log.stop()
        two.write("b\n")
        two.flush()
        via = f"/proc/self/fd/{two.fileno()}"
        tail = LogTail(str(tmp_path / "gone"), Lines(), None, via=via, offset=state)
        with pytest.raises(FileNotFoundError, match="another file"):
            tail.read(1.0)
        one.write("c\n")
        one.flush()
        reader = Lines()
        via = f"/proc/self/fd/{one.fileno()}"
        tail = LogTail(str(tmp_path / "gone"), reader, None, via=via, offset=state)
        tail.read(1.0)
        assert reader.got == ["c"]
        tail.close()


# -- restarts


def test_a_restart_in_the_middle_of_a_line(log: Followed) -> None:
    write(log.path, "a\nb")
    log.look()
    log.restart()
    write(log.path, "c\n")
    assert log.look() == ["bc"]


def test_silence_over_a_restart_stays_silence(log: Followed) -> None:
    write(log.path, "a\n")
    log.look()
    log.restart()
    log.look(500.0)
    assert log.growth[0].grown_at == 1001.0


def test_rotated_while_we_were_down(log: Followed) -> None:
    write(log.path, "a\n")
    log.look()
    state = log.stop()
    write(log.path, "b\n")
    log.path.rename(log.path.with_name("train.log.1"))
    write(log.path, "c\n")
    log.path.with_name("train.log.1").rename(log.path.with_name("train.log.2"))
    log.path.rename(log.path.with_name("train.log.1"))
    write(log.path, "d\n")
    log.start(state)
    assert log.look() == ["b", "c", "d"]


def test_copied_and_truncated_while_we_were_down(log: Followed) -> None:
    write(log.path, long(1))
    log.look()
    state = log.stop()
    write(log.path, long(2))
    shutil.copy(log.path, log.path.with_name("train.log.1"))
    log.path.write_text(long(3, 4, 5))
    log.start(state)
    assert numbers(log.look()) == [2, 3, 4, 5]


def test_moved_to_another_disk_while_we_were_down(log: Followed) -> None:
    write(log.path, "a\n")
    log.look()
    state = log.stop()
    copy = log.path.with_name("copy")
    shutil.copy(log.path, copy)
    copy.replace(log.path)
    write(log.path, "b\n")
    log.start(state)
    assert log.look() == ["b"]


def test_deleted_and_written_anew_while_we_were_down(log: Followed) -> None:
    write(log.path, "a\nhalf")
    log.look()
    state = log.stop()
    log.path.unlink()
    write(log.path, "another run\n")
    log.start(state)
    assert log.look() == ["half", "another run"]


def test_state_survives_starts_at_which_the_log_cannot_be_read(log: Followed) -> None:
    write(log.path, "a\n")
    log.look()
    state = log.stop()
    hidden = log.path.with_name("hidden")
    log.path.rename(hidden)
    log.path.mkdir()
    log.start(state)
    # Found under its other name, by inode and content.
    assert log.look() == []
    state = log.stop()
    hidden.rename(log.path.parent.parent / f"{log.path.parent.name}-away")
    log.start(state)
    with pytest.raises(IsADirectoryError):
        log.look()
    state = log.stop()
    log.path.rmdir()
    (log.path.parent.parent / f"{log.path.parent.name}-away").rename(log.path)
    write(log.path, "b\n")
    log.start(state)
    assert log.look() == ["b"]


JUNK = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)


@given(
    damage=st.dictionaries(
        st.sampled_from(
            (*FilePosition._fields, "open_line", "size", "grown_at", "chunk_bytes"),
        ),
        JUNK,
    )
)
@example(damage={"offset": 1 << 63})
def test_a_damaged_state_raises_nothing(tmp_path: Path, damage: dict[str, Any]) -> None:
    path = tmp_path / "train.log"
    path.write_text("a\nb\n")
    log = Followed(path)
    log.look()
    state = {**log.stop(), **damage}
    tail = LogTail(str(path), Lines(), None, offset=state)
    tail.read(1000.0)
    json.dumps(tail.state())
    tail.close()


# -- every line once, whatever happens


class Writer:
    """A training program and its logrotate; knows which lines must arrive."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.number = 0
        self.file = path.open("ab", buffering=0)
        self.unfinished = False

    def append(self, *, whole: bool = True) -> None:
        if not self.unfinished:
            self.number += 1
            self.file.write(b"%d " % self.number + b"x" * PRINT_BYTES)
        self.unfinished = not whole
        if whole:
            self.file.write(b"\n")

    def shift(self) -> None:
        for n in range(15, 0, -1):
            old = self.path.with_name(f"{self.path.name}.{n}")
            if old.exists():
                old.rename(self.path.with_name(f"{self.path.name}.{n + 1}"))

    def rename(self) -> None:
        self.finish()
        self.shift()
        self.path.rename(self.path.with_name(f"{self.path.name}.1"))
        self.file.close()
        self.file = self.path.open("ab", buffering=0)

    def copytruncate(self) -> None:
        self.finish()
        self.shift()
        shutil.copy(self.path, self.path.with_name(f"{self.path.name}.1"))
        os.truncate(self.path, 0)

    def finish(self) -> None:
        if self.unfinished:
            self.append()

    def close(self) -> None:
        self.finish()
        self.file.close()


@given(
    actions=st.lists(
        st.sampled_from(
            ["append"] * 4 + ["half", "look", "look", "restart", "down", "rename", "copy"]
        ),
        max_size=40,
    )
)
def test_every_line_exactly_once(
    tmp_path_factory: pytest.TempPathFactory, actions: list[str]
) -> None:
    path = tmp_path_factory.mktemp("model") / "train.log"
    writer = Writer(path)
    log = Followed(path)
    log.look()
    down: TailState | None = None
    for action in [*actions, "up"]:
        if action == "append":
            writer.append()
        elif action == "half":
            writer.append(whole=False)
        elif action == "rename":
            writer.rename()
        elif action == "copy":
            # A copy is known by the bytes that were read; below a fingerprint there are too few.
            if down is None:
                log.look()
            if down is None or down["mark_len"] == PRINT_BYTES:
                writer.copytruncate()
        elif down is not None:
            log.start(down)
            down = None
        elif action == "look":
            log.look()
        elif action == "restart":
            log.restart()
        elif action == "down":
            down = log.stop()
    writer.close()
    log.look()
    log.stop()
    shutil.rmtree(path.parent)
    assert numbers(log.got) == list(range(1, writer.number + 1))


@given(seed=st.integers(0, 2**32))
def test_whatever_happens_no_line_comes_twice_or_out_of_order(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    """Deletions and truncations lose lines for everybody; none may be made up."""
    path = tmp_path_factory.mktemp("model") / "train.log"
    dice = random.Random(seed)
    writer = Writer(path)
    log = Followed(path)
    for _ in range(30):
        what = dice.randrange(10)
        if what < 4:
            writer.append()
        elif what < 6:
            log.look()
        elif what == 6:
            log.restart()
        elif what == 7:
            writer.rename()
        elif what == 8:
            writer.finish()
            os.truncate(path, 0)
        else:
            writer.close()
            path.unlink()
            writer.file = path.open("ab", buffering=0)
    writer.close()
    log.look()
    log.stop()
    shutil.rmtree(path.parent)
    got = numbers(log.got)
    assert got == sorted(set(got))


def test_a_rotation_in_the_middle_of_the_search_hides_nothing(
    log: Followed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is listed under one name and has the next one when it is to be opened."""
    write(log.path, long(1))
    log.look()
    write(log.path, long(2))
    before = log.stop()
    search = os.scandir
    rotations = iter([1])

    def scandir(folder: str) -> Any:
        with search(folder) as found:
            listed = list(found)
        for number in rotations:
            log.path.rename(f"{log.path}.{number}")
            write(log.path, long(3))
        return contextlib.nullcontext(listed)

    monkeypatch.setattr(os, "scandir", scandir)
    log.start(before)
    log.look()
    assert numbers(log.got) == [1, 2, 3]


ROTATING = """
import logging.handlers, sys, time
log = logging.getLogger()
log.addHandler(logging.handlers.RotatingFileHandler(sys.argv[1], maxBytes=40_000, backupCount=15))
for number in range(1, 4001):
    log.warning("%d %s", number, "x" * (number % 200))
    if number % 40 == 0:
        time.sleep(0.003)
"""


def test_every_line_of_a_rotating_program_that_does_not_wait_for_us(tmp_path: Path) -> None:
    dice = random.Random(7)
    path = tmp_path / "train.log"
    path.touch()
    log = Followed(path)
    log.look()
    with subprocess.Popen([sys.executable, "-c", ROTATING, str(path)]) as child:
        while child.poll() is None:
            log.look()
            if dice.random() < 0.2:
                log.restart()
            time.sleep(0.001)
    log.look()
    log.stop()
    assert numbers(log.got) == list(range(1, 4001))


@settings(max_examples=50)
@given(data=st.binary(max_size=400), cuts=st.lists(st.integers(0, 400), max_size=8))
def test_any_split_gives_the_same_bytes(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, cuts: list[int]
) -> None:
    class Bytes(Lines):
        raw = b""

        def feed(self, data: bytes, now: float) -> list[Any]:
            self.raw += data
            return []

    path = tmp_path_factory.mktemp("split") / "log"
    path.touch()
    reader = Bytes()
    tail = LogTail(str(path), reader, None)
    at = 0
    for now, cut in enumerate([*sorted(cuts), len(data)]):
        with path.open("ab") as file:
            file.write(data[at:cut])
        at = max(at, min(cut, len(data)))
        tail.read(1000.0 + now)
    tail.close()
    shutil.rmtree(path.parent)
    # NUL bytes are holes to a tail; it may drop them, and keeps those at the end waiting.
    assert reader.raw.replace(b"\0", b"") == data.replace(b"\0", b"")


# -- with the real parts around it


def test_a_hint_brings_a_line_before_the_heartbeat(tmp_path: Path) -> None:
    inotify = Inotify()
    if not inotify.available:
        pytest.skip(inotify.why_not)
    path = tmp_path / "train.log"
    path.write_text("a\n")
    reader = Lines()
    tail = LogTail(str(path), reader, inotify)
    other = LogTail(str(tmp_path / "quiet.log"), Lines(), inotify)
    with pytest.raises(FileNotFoundError):
        other.read(1000.0)
    tail.read(1000.0)
    assert tuple(tail.fds()) == tuple(other.fds()) == (inotify.fd,)

    write(path, "b\n")
    assert not other.ready(inotify.fd, 1000.5)
    tail.ready(inotify.fd, 1000.5)
    assert reader.got == ["a", "b"]
    assert tuple(tail.fds()) == ()
    assert tail.due_at is None

    write(path, "c\n")
    tail.ready(inotify.fd, 1000.55)
    assert reader.got == ["a", "b"], "a burst is left to the heartbeat"
    tail.read(1001.5)
    assert reader.got == ["a", "b", "c"]
    tail.read(1002.5)
    assert tuple(tail.fds()) == (inotify.fd,)

    path.rename(tmp_path / "train.log.1")
    write(path, "d\n")
    tail.ready(inotify.fd, 1002.8)
    assert reader.got[-1] == "d"
    tail.read(1003.8)
    tail.read(1004.8)
    write(path, "e\n")
    tail.ready(inotify.fd, 1005.1)
    assert reader.got[-1] == "e"
    for one in (tail, other):
        one.close()
        one.close()
    inotify.close()


def test_with_the_real_reader(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    write(path, "step 1 loss 2.5\nstep 2 lo")
    tail = LogTail(str(path), LiveReader(str(path)), None)
    tail.read(1000.0)
    state = json.loads(json.dumps(tail.state()))
    tail.close()
    write(path, "ss 2.4\n")
    reader = LiveReader.restore(str(path), state["reader"])
    tail = LogTail(str(path), reader, None, offset=state)
    tail.read(1001.0)
    tail.close()
    assert reader.lines == 2
    assert reader.tail[-1][1] == "step 2 loss 2.4"


@pytest.mark.system
@pytest.mark.parametrize("style", ["create", "copytruncate", "create\ndateext"])
def test_the_real_logrotate(tmp_path: Path, style: str) -> None:
    logrotate = shutil.which("logrotate", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if logrotate is None:
        pytest.skip("logrotate is not installed")
    path = tmp_path / "train.log"
    config = tmp_path / "rotate.conf"
    user = "su root root\n" if os.geteuid() == 0 else ""
    config.write_text(f"{path} {{\n{user}rotate 4\n{style}\n}}\n")
    config.chmod(0o644)
    command = [logrotate, "--force", "--state", str(tmp_path / "state"), str(config)]
    log = Followed(path)
    for number in range(1, 7, 2):
        if "dateext" in style and number > 1:
            break  # one rotation a day
        write(path, long(number))
        log.look()
        write(path, long(number + 1))
        subprocess.run(command, check=True, timeout=300)
        log.look()
    write(path, long(99))
    log.look()
    log.stop()
    assert numbers(log.got) == ([1, 2, 99] if "dateext" in style else [1, 2, 3, 4, 5, 6, 99])


def test_a_long_log_is_read_from_near_its_end(tmp_path: Path) -> None:
    """History is replay's business; the daemon is a guest."""
    path = tmp_path / "train.log"
    line = b"step 1 loss 2.0 " + b"." * 83 + b"\n"
    path.write_bytes(line * (3 * REACH_BYTES // len(line)))
    reader = Lines()
    tail = LogTail(str(path), reader, None)
    list(tail.read(1000.0))
    while tail.due_at is not None:
        list(tail.read(1000.0))
    assert REACH_BYTES - len(line) <= len(line) * len(reader.got) <= REACH_BYTES
    assert all(len(got) == len(line) - 1 for got in reader.got), "it began at the start of a line"
    assert tail.skipped_bytes == path.stat().st_size - len(line) * len(reader.got)
    again = LogTail(str(path), Lines(), None, offset=tail.state())
    assert again.skipped_bytes == tail.skipped_bytes
    assert list(again.read(1000.0))
    for one in (tail, again):
        one.close()
