"""Hints from the kernel, and doing without them."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from middlewatch.daemon.system import inotify as module
from middlewatch.daemon.system.inotify import REST_S, ChangeHints, Inotify, Watch

NOW = 1000.0


@pytest.fixture
def inotify() -> Iterator[Inotify]:
    one = Inotify()
    if not one.available:
        pytest.skip(one.why_not)
    yield one
    one.close()
    one.close()


def watched(inotify: Inotify, path: Path, name: str | None = None) -> Watch:
    watch = inotify.watch(str(path), name)
    assert watch is not None, inotify.why_not
    return watch


def collect(inotify: Inotify, turn: int = 0) -> None:
    """As the loop does it: each turn after the rest of the one before."""
    inotify.collect(NOW + turn * 2 * REST_S)


def test_growth_of_a_file_marks_its_watch_only(inotify: Inotify, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.touch()
    two.touch()
    first, second = watched(inotify, one), watched(inotify, two)
    one.write_text("a")
    assert select.select([inotify.fd], [], [], 120)[0]
    collect(inotify)
    assert (first.dirty, second.dirty) == (True, False)


def test_a_name_is_watched_through_its_folder(inotify: Inotify, tmp_path: Path) -> None:
    watch = watched(inotify, tmp_path, "log")
    (tmp_path / "other").write_text("a")
    collect(inotify)
    assert not watch.dirty
    log, old = tmp_path / "log", tmp_path / "log.1"
    changes: list[Callable[[], object]] = [
        log.touch,
        lambda: log.rename(old),
        lambda: old.rename(log),
        log.unlink,
    ]
    for turn, change in enumerate(changes, start=1):
        watch.dirty = False
        change()
        collect(inotify, turn)
        assert watch.dirty, turn


def test_writing_to_a_file_says_nothing_about_its_name(inotify: Inotify, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.touch()
    watch = watched(inotify, tmp_path, "log")
    log.write_text("a")
    collect(inotify)
    assert not watch.dirty


def test_an_open_file_is_followed_under_any_name(inotify: Inotify, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("w") as writer, log.open() as reader:
        watch = watched(inotify, Path(f"/proc/self/fd/{reader.fileno()}"))
        log.unlink()
        collect(inotify)
        watch.dirty = False
        writer.write("a")
        writer.flush()
        collect(inotify, 1)
        assert watch.dirty


def test_rests_after_a_batch(inotify: Inotify, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.touch()
    watch = watched(inotify, log)
    assert inotify.armed
    log.write_text("a")
    inotify.collect(NOW)
    assert inotify.due_at == NOW + REST_S
    assert not inotify.armed
    watch.dirty = False
    log.write_text("b")
    inotify.collect(NOW + REST_S / 2)
    assert not watch.dirty
    inotify.collect(NOW + REST_S)
    assert watch.dirty
    inotify.collect(NOW + 2 * REST_S)
    assert inotify.armed
    assert inotify.due_at is None


def test_a_clock_that_jumps_back_ends_the_rest(inotify: Inotify, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.touch()
    watch = watched(inotify, log)
    log.write_text("a")
    inotify.collect(NOW)
    watch.dirty = False
    log.write_text("b")
    inotify.collect(NOW - 3600)
    assert watch.dirty


def test_two_followers_of_one_file(inotify: Inotify, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.touch()
    first, second = watched(inotify, log), watched(inotify, log)
    inotify.unwatch(first)
    inotify.unwatch(first)
    log.write_text("a")
    collect(inotify)
    assert (first.dirty, second.dirty) == (False, True)
    assert (first.alive, second.alive) == (False, True)
    inotify.unwatch(second)
    log.write_text("b")
    collect(inotify, 1)


def test_a_watch_dies_with_its_folder(inotify: Inotify, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    watch = watched(inotify, folder, "log")
    folder.rmdir()
    collect(inotify)
    assert watch.dirty
    assert not watch.alive


def test_an_overflow_marks_everything(inotify: Inotify, tmp_path: Path) -> None:
    queue = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if queue > 100_000:
        pytest.skip("the event queue of this box is too long to fill")
    busy, quiet = tmp_path / "busy", tmp_path / "quiet"
    for file in (busy, quiet):
        file.touch()
    watches = [watched(inotify, file) for file in (busy, quiet)]
    other = watched(inotify, tmp_path, "x")
    # Equal events in a row are merged by the kernel, so two files take turns.
    spare = tmp_path / "spare"
    spare.touch()
    watched(inotify, spare)
    fds = [os.open(file, os.O_WRONLY) for file in (busy, spare)]
    for _ in range(queue // 2 + 10):
        for fd in fds:
            os.pwrite(fd, b"a", 0)
    for fd in fds:
        os.close(fd)
    for turn in range(20):
        collect(inotify, turn)
        if watches[1].dirty:
            break
    assert all(w.dirty for w in (*watches, other))


def test_a_missing_path_has_no_watch(inotify: Inotify, tmp_path: Path) -> None:
    assert inotify.watch(str(tmp_path / "none")) is None
    assert "No such file" in inotify.why_not
    assert inotify.available
    assert inotify.watch(str(tmp_path), "log") is not None
    assert inotify.why_not == ""


def test_file_systems_without_events_are_polled(inotify: Inotify) -> None:
    assert inotify.watch("/proc/self/status") is None
    assert inotify.why_not == "proc sends no events: looking once a second"


@pytest.mark.system
def test_a_fuse_mount_is_polled(inotify: Inotify, tmp_path: Path) -> None:
    if not shutil.which("bindfs"):
        pytest.skip("bindfs is not installed")
    place = tmp_path / "mount"
    place.mkdir()
    done = subprocess.run(["bindfs", "/etc", str(place)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"FUSE cannot be mounted here: {done.stderr.strip()}")
    try:
        assert inotify.watch(str(place), "log") is None
        assert "fuse" in inotify.why_not
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_hints_go_to_whom_they_concern(inotify: Inotify, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("w") as file:
        hints = ChangeHints(inotify, str(log))
        assert hints.fds() == ()
        hints.ask(file.fileno())
        assert hints.fds() == (inotify.fd,)
        assert not hints.collect(NOW)
        file.write("a")
        file.flush()
        assert hints.collect(NOW)
        assert hints.fds() == ()
        hints.clear(NOW)
        assert not hints.collect(NOW)
        hints.forget_file()
        hints.close()
    assert hints.fds() == ()


def test_without_an_instance_there_are_no_hints(tmp_path: Path) -> None:
    hints = ChangeHints(None, str(tmp_path / "log"))
    hints.ask(0)
    assert (hints.fds(), hints.collect(NOW)) == ((), False)
    hints.clear(NOW)
    hints.close()


EXHAUSTED = """
import os, resource, sys
from middlewatch.daemon.system.inotify import Inotify
from middlewatch.daemon.sources.log_tail import LogTail

class Reader:
    lines = 0
    signs = None
    def feed(self, data, now):
        self.lines += data.count(b"\\n")
        return []
    def save(self):
        return {}

class Full(Inotify):
    def watch(self, *where):
        try:
            while full:
                kept.append(os.open("/dev/null", os.O_RDONLY))
        except OSError:
            pass
        return super().watch(*where)

full = True
soft = len(os.listdir("/proc/self/fd")) + 4
kept = [os.open("/dev/null", os.O_RDONLY) for _ in range(soft)]
resource.setrlimit(resource.RLIMIT_NOFILE, (max(kept) + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
inotify = Full()
assert not inotify.available and not inotify.armed
assert "are taken" in inotify.why_not, inotify.why_not
for _ in range(4):  # a log is opened folder by folder
    os.close(kept.pop())
reader = Reader()
tail = LogTail(sys.argv[1], reader, inotify)
tail.read(1000.0)
assert reader.lines == 1 and tuple(tail.fds()) == () and tail.due_at is None
full = False
for fd in kept:
    os.close(fd)
tail.read(1011.0)
assert inotify.available and inotify.why_not == "" and tuple(tail.fds()) == (inotify.fd,)
tail.close()
inotify.close()
"""


def test_without_descriptors_the_log_is_polled_until_there_are_some(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("a\n")
    done = subprocess.run(
        [sys.executable, "-c", EXHAUSTED, str(log)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


LIMITED = """
from pathlib import Path
from middlewatch.daemon.system.inotify import Inotify
limits = Path("/proc/sys/user")
(limits / "max_inotify_watches").write_text("1")
one = Inotify()
assert one.watch("/tmp", "a") is not None and one.why_not == ""
assert one.watch("/", "a") is None
assert one.available
print(one.why_not)
(limits / "max_inotify_instances").write_text("1")
two = Inotify()
assert not two.available
assert two.watch("/tmp") is None
print(two.why_not)
one.close()
assert two.watch("/tmp", "a") is not None
assert two.available and two.why_not == ""
two.close()
"""


def test_limits_of_the_user_are_said() -> None:
    unshare = shutil.which("unshare")
    settable = "test -w /proc/sys/user/max_inotify_watches"  # in a container it is often read-only
    if (
        unshare is None
        or subprocess.run(
            [unshare, "-Ur", "sh", "-c", settable], stderr=subprocess.DEVNULL
        ).returncode
    ):
        pytest.skip("needs a user namespace of its own whose limits can be set")
    done = subprocess.run(
        [unshare, "-Ur", sys.executable, "-c", LIMITED], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    watches, instances = done.stdout.splitlines()
    assert "all inotify watches of this user are taken" in watches
    assert "all inotify instances of this user" in instances


def test_closed_means_no_more_hints(tmp_path: Path) -> None:
    one = Inotify()
    if not one.available:
        pytest.skip(one.why_not)
    watch = watched(one, tmp_path, "log")
    one.close()
    assert not one.available
    assert not watch.alive
    one.collect(NOW)
    one.unwatch(watch)


def test_imports_nothing_heavy() -> None:
    code = f"import sys, {module.__name__}; print('asyncio' in sys.modules or 'ssl' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
