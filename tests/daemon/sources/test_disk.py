"""Disks: the real ones of this box, real small tmpfs, a real mount that never answers."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.sources.disk import DEADLINE_S, SETTLE_EVERY, Disks, PlacesOfRun
from middlewatch.daemon.sources.programs import disk
from middlewatch.daemon.system.clock import SystemClock
from middlewatch.daemon.system.loop import Loop
from middlewatch.daemon.system.mounts import is_remote
from middlewatch.daemon.system.pump import Pump
from middlewatch.sentinels.kit import DiskSample, Observation, SourceState

from ...sentinels.story import Story

Make = Callable[..., Disks]


class MovedClock(SystemClock):
    """The real one, put forward by hand."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead


@pytest.fixture
def clock() -> MovedClock:
    return MovedClock()


@pytest.fixture
def make(clock: MovedClock) -> Iterator[Make]:
    made: list[Disks] = []

    def disks(places: Mapping[str, Any], root: str | Path = "/") -> Disks:
        made.append(Disks(places, clock, str(root)))
        return made[-1]

    yield disks
    for source in made:
        source.close()
        source.close()


def look(source: Disks, now: float = 1.0) -> list[DiskSample]:
    seen = list(source.read(now))
    samples = [s for s in seen if isinstance(s, DiskSample)]
    assert len(samples) == len(seen)
    return samples


def answered(source: Disks, now: float = 2.0) -> list[DiskSample]:
    """What the children answer within ten real seconds."""
    found: list[DiskSample] = []
    deadline = time.monotonic() + 120
    while not found and time.monotonic() < deadline:
        ready, _, _ = select.select(list(source.fds()), [], [], 0.1)
        for fd in ready:
            found += [s for s in source.ready(fd, now) if isinstance(s, DiskSample)]
            if source.stalled(now):
                return found
    return found


def box(root: Path, *mounts: str) -> Path:
    """A box on disk: each mount is ``POINT FSTYPE [DEVICE]``."""
    (root / "proc/self").mkdir(parents=True)
    lines = []
    for i, mount in enumerate(mounts):
        point, fstype, *device = mount.split()
        (root / point.lstrip("/")).mkdir(parents=True, exist_ok=True)
        lines.append(f"{i} 1 {device[0] if device else f'0:{i}'} / {point} rw - {fstype} none rw\n")
    (root / "proc/self/mountinfo").write_text("".join(lines))
    return root


def test_this_box(make: Make, tmp_path: Path) -> None:
    (sample, *others) = look(
        make({"checkpoints": [str(tmp_path / "not/yet")], "cwd": [str(tmp_path)]})
    )
    assert others == []
    real = os.statvfs(tmp_path)
    assert sample.total_bytes == real.f_blocks * real.f_frsize
    assert 0 < sample.free_bytes <= sample.total_bytes
    assert os.path.ismount(sample.mount)
    assert sample.holds == ("checkpoints", "cwd")
    assert sample.read_only is False
    assert sample.at == 1.0


def test_what_has_no_size_is_no_disk(make: Make) -> None:
    assert look(make({"cwd": ["/proc/self"]})) == []
    assert look(make({"cwd": []})) == []


def test_longest_mount_and_bind_mounts(make: Make, tmp_path: Path) -> None:
    root = box(tmp_path, "/ ext4 8:1", "/data xfs 8:2", "/database xfs 8:3", "/work xfs 8:2")
    places = {
        "checkpoints": ["/data/ckpt"],
        "log": ["/database/log"],
        "cwd": ["/work"],
        "tmp": ["/dat"],
    }
    samples = look(make(places, root))
    assert [(s.mount, s.holds) for s in samples] == [
        ("/data", ("checkpoints", "cwd")),
        ("/database", ("log",)),
        ("/", ("tmp",)),
    ]


def test_what_is_mounted_below_the_folder_of_one_run(make: Make, tmp_path: Path) -> None:
    """Scratch space and caches: their files are often open for a moment only."""
    table = ("/ ext4", "/w/one/scratch ext4", "/w/one/far nfs4", "/w/other ext4", "/disk ext4")
    root = box(tmp_path, *table)
    disks = make({}, root)

    def seen(**homes: str) -> set[str]:
        disks.arrange(
            {"state": ["/disk"]}, {run: PlacesOfRun({"cwd": [home]}) for run, home in homes.items()}
        )
        return {s.mount for s in look(disks)}

    assert seen(a="/w/one") == {"/", "/w/one/scratch", "/disk"}
    assert seen(a="/w/one", b="/w/one") == {"/", "/disk"}, "which of the two would it be?"
    assert seen(a="/w") == {"/", "/disk"}, "the disks of everybody are below it"
    disks.arrange({"state": ["/w/one/scratch"]}, {"a": PlacesOfRun({"cwd": ["/w/one"]})})
    (state,) = (s for s in look(disks) if s.mount == "/w/one/scratch")
    assert state.holds == ("state",), "our own state is not of the run"


def test_links_are_followed(make: Make, tmp_path: Path) -> None:
    root = box(tmp_path, "/ ext4", "/data ext4", "/home ext4")
    (root / "home/out").symlink_to("/data/../data/runs")
    (root / "home/up").symlink_to("../data")
    (root / "home/loop").symlink_to("loop")
    samples = look(
        make({"log": ["/home/out/x.log"], "cwd": ["/home/up"], "tmp": ["/home/loop"]}, root)
    )
    assert [(s.mount, s.holds) for s in samples] == [("/data", ("log", "cwd")), ("/home", ("tmp",))]


def test_mounts_are_looked_at_again(make: Make, tmp_path: Path) -> None:
    root = box(tmp_path, "/ ext4 8:1")
    source = make({"checkpoints": ["/data/ckpt"]}, root)
    assert [s.mount for s in look(source)] == ["/"]
    (root / "data").mkdir()
    with (root / "proc/self/mountinfo").open("a") as file:
        file.write("9 1 8:2 / /data rw - ext4 none rw\n")
    seen = {s.mount for _ in range(SETTLE_EVERY) for s in look(source)}
    assert seen == {"/", "/data"}


def test_a_place_that_vanishes_is_found_again_above(make: Make, tmp_path: Path) -> None:
    root = box(tmp_path, "/ ext4 8:1")
    (root / "tmp").mkdir()
    source = make({"tmp": ["/tmp"]}, root)
    assert len(look(source)) == 1
    (root / "tmp").rmdir()
    assert look(source) == []
    assert "No such file" in (source.stalled(1.0) or "")
    assert [s.mount for s in look(source)] == ["/"]
    assert source.stalled(1.0) is None


@pytest.mark.parametrize(
    "fstype", ["nfs", "nfs4", "fuse.sshfs", "fuse", "lustre", "ceph", "9p", "cifs"]
)
def test_network_file_systems_are_known(fstype: str) -> None:
    assert is_remote(fstype)


@pytest.mark.parametrize("fstype", ["ext4", "xfs", "btrfs", "overlay", "tmpfs", "zfs"])
def test_local_file_systems_are_known(fstype: str) -> None:
    assert not is_remote(fstype)


def test_a_remote_mount_is_asked_through_a_child(make: Make, tmp_path: Path) -> None:
    root = box(tmp_path, "/ ext4 8:1", "/mnt/nfs nfs4 0:50")
    source = make({"checkpoints": ["/mnt/nfs/a/b"], "log": ["/mnt/nfs/l"], "cwd": ["/"]}, root)
    assert [s.mount for s in look(source)] == ["/"]
    (sample,) = answered(source)
    assert (sample.mount, sample.fstype, sample.holds) == (
        "/mnt/nfs",
        "nfs4",
        ("checkpoints", "log"),
    )
    assert sample.total_bytes == look(source)[0].total_bytes
    assert sample.at == 2.0
    assert source.stalled(1.0) is None
    source.close()
    assert list(source.fds()) == []


def test_local_mounts_below_a_remote_root_are_not_remote(make: Make, tmp_path: Path) -> None:
    root = box(tmp_path, "/ 9p", "/dev/shm tmpfs")
    assert [s.mount for s in look(make({"shm": ["/dev/shm/x"], "cwd": ["/home"]}, root))] == [
        "/dev/shm"
    ]


def test_the_end_of_a_child_is_survived(make: Make, clock: MovedClock, tmp_path: Path) -> None:
    source = make({"log": ["/mnt/l"]}, box(tmp_path, "/ ext4", "/mnt nfs"))
    look(source)
    assert len(answered(source)) == 1
    (remote,) = source._remotes.values()
    assert remote.child.pid
    os.kill(remote.child.pid, 9)
    assert answered_nothing(source)
    clock.ahead += 100
    deadline = time.monotonic() + 120
    while not remote.child.alive:  # the pipe of a killed process closes before it is quite gone
        assert time.monotonic() < deadline
        look(source)
    assert len(answered(source)) == 1
    assert source.stalled(1.0) is None


def answered_nothing(source: Disks) -> bool:
    ready, _, _ = select.select(list(source.fds()), [], [], 10)
    return bool(ready) and not [o for fd in ready for o in source.ready(fd, 1.0)]


def test_too_many_remote_mounts_are_named(make: Make, tmp_path: Path) -> None:
    points = [f"/m{i}" for i in range(10)]
    source = make({"log": points}, box(tmp_path, "/ ext4", *(f"{p} nfs" for p in points)))
    source._settle()
    assert len(source._remotes) == 8
    assert source.impaired.endswith(": /m7, /m8")
    fewer = make({"log": points[:8]}, tmp_path)
    fewer._settle()
    assert fewer.impaired == ""


def test_blind_names_the_ninth_network_mount(make: Make, clock: MovedClock, tmp_path: Path) -> None:
    points = [f"/m{i}" for i in range(9)]
    source = make({"log": points}, box(tmp_path, "/ ext4", *(f"{p} nfs" for p in points)))
    loop = Loop(clock, lambda error: None)
    seen: list[Observation] = []
    Pump(loop, clock, lambda bug: None).add(source, seen.extend)
    loop.turn(0.0)
    loop.close()
    (state,) = (each for each in seen if isinstance(each, SourceState))
    (finding,) = Story().source(state.source, state.state, 60, state.detail).asks("blind")
    assert finding.summary.endswith(": /m8")


@pytest.mark.parametrize("path", ["/", "/no/such/thing/at all", "/proc/self/stat/x", "a\0b"])
def test_the_child_answers_for_any_path(path: str) -> None:
    answer = disk.answer(path)
    assert answer["path"] == path
    assert ("blocks" in answer) != ("error" in answer)


def test_the_child_skips_what_is_no_question() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", disk.__file__],
        input=b'\n{\n[]\n{"path": 3}\n{"x": 1}\n\xff\n{"path": "/"}\n',
        capture_output=True,
        check=True,
    )
    (line,) = done.stdout.splitlines()
    assert json.loads(line)["blocks"] > 0
    assert done.stderr == b""


# -- real mounts in a private namespace -------------------------------------------------

PRIVATE = """
import ctypes, json, os, sys
from middlewatch.daemon.sources.disk import Disks
LIBC = ctypes.CDLL(None, use_errno=True)
def mount(what, where, kind, flags, options):
    os.makedirs(where, exist_ok=True)
    if LIBC.mount(what.encode(), where.encode(), kind.encode(), flags, options.encode()):
        print(json.dumps({"skip": f"mount {kind}: {os.strerror(ctypes.get_errno())}"}))
        sys.exit()
base = sys.argv[1]
"""


def privately(script: str, base: Path, *unshare: str) -> Any:
    done = subprocess.run(
        ["unshare", *unshare, sys.executable, "-c", PRIVATE + script, str(base)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    if "unshare" in done.stderr:
        pytest.skip(f"no private mounts here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    if isinstance(told, dict) and "skip" in told:
        pytest.skip(told["skip"])
    return told


SMALL = """
there = base + "/a b"
mount("none", there, "tmpfs", 0, "size=1m,nr_inodes=20")
link = base + "/link"
os.symlink(there, link)
source = Disks({"checkpoints": [link + "/ckpt"]})
told = []
def tell():
    for s in source.read(1.0):
        told.append([s.mount == there, s.fstype, s.total_bytes, s.free_bytes, s.total_inodes, s.free_inodes, s.read_only])
tell()
for i in range(100):
    try:
        open(f"{there}/{i}", "w").close()
    except OSError:
        break
tell()
os.unlink(f"{there}/0")
with open(f"{there}/0", "w") as file:
    try:
        file.write("x" * (2 << 20))
        file.flush()
    except OSError:
        file = None
tell()
mount("none", there, "tmpfs", 32 | 1, "size=1m,nr_inodes=20")
tell()
mount("none", there, "tmpfs", 0, "size=2m,nr_inodes=0")
source._stale = True
tell()
print(json.dumps(told), flush=True)
os._exit(0)
"""


@pytest.mark.system
@pytest.mark.parametrize("unshare", [("-m",), ("-rm",)])
def test_a_real_small_file_system_runs_full(tmp_path: Path, unshare: tuple[str, ...]) -> None:
    if unshare == ("-m",) and os.geteuid() != 0:
        pytest.skip("needs root; the unprivileged variant covers it")
    fresh, no_inodes, no_bytes, read_only, uncounted = privately(SMALL, tmp_path, *unshare)
    assert fresh[:3] == [True, "tmpfs", 1 << 20]
    assert fresh[4] == 20
    assert (no_inodes[4], no_inodes[5]) == (20, 0)
    assert no_inodes[3] == 1 << 20
    assert no_bytes[3] == 0
    assert read_only[6] is True
    assert [fresh[6], no_bytes[6]] == [False, False]
    assert uncounted[2] == 2 << 20
    assert uncounted[4:6] == [None, None]


MUTE = """
import select, time
from middlewatch.daemon.system.clock import SystemClock
class Moved(SystemClock):
    ahead = 0.0
    def monotonic(self):
        return super().monotonic() + self.ahead
server = os.open("/dev/fuse", os.O_RDWR)
mount("mute", base + "/mute", "fuse.mute", 0, f"fd={server},rootmode=40000,user_id=0,group_id=0")
mount("none", base + "/fine", "tmpfs", 0, "size=1m")
clock = Moved()
source = Disks({"checkpoints": [base + "/mute/ckpt"], "log": [base + "/fine/log"]}, clock)
names = []
for i in range(12):
    names.append([s.mount for s in source.read(1.0)])
before = source.stalled(1.0)
clock.ahead += 11.0
names.append([s.mount for s in source.read(1.0)])
late = source.stalled(1.0)
os.close(server)          # the server dies: the kernel answers for it
deadline = time.monotonic() + 120
while time.monotonic() < deadline and "not answered" in (source.stalled(1.0) or ""):
    for fd in select.select(source.fds(), [], [], 0.1)[0]:
        source.ready(fd, 1.0)
after = source.stalled(1.0)
source.close()
print(json.dumps({"names": names, "before": before, "late": late, "after": after}))
"""


@pytest.mark.system
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount FUSE without a helper")
@pytest.mark.skipif(not os.path.exists("/dev/fuse"), reason="no /dev/fuse on this box")
def test_a_real_mount_that_never_answers_stalls_only_itself(tmp_path: Path) -> None:
    told = privately(MUTE, tmp_path, "-m")
    assert told["names"] == [[f"{tmp_path}/fine"]] * 13
    assert told["before"] is None
    assert told["late"].startswith(f"{tmp_path}/mute (fuse.mute): has not answered for 11 s")
    assert "Transport endpoint" in told["after"] or "connected" in told["after"]
    assert DEADLINE_S < 11


def test_a_read_is_cheap(make: Make) -> None:
    source = make(
        {"checkpoints": ["/"], "shm": ["/dev/shm"], "tmp": ["/tmp"], "cwd": [os.getcwd()]}
    )
    look(source)
    began = time.process_time()
    for _ in range(200):
        look(source)
    # About 15 µs on a slow core; a bound that only a change of method can break.
    assert (time.process_time() - began) / 200 < 0.0005
    assert source.stalled(1.0) is None


SAVING = """
from middlewatch.daemon.judge.history import BoxHistory, RunHistory
from middlewatch.sentinels.kit import CheckpointSeen, RunFacts, discover
keep = int(sys.argv[2])
there = base + "/volume"
mount("none", there, "tmpfs", 0, "size=10m,nr_inodes=400")
source = Disks({"checkpoints": [there]})
box = BoxHistory()
history = RunHistory(RunFacts("run", 0.0, 0.0), box)
rules = [(name, discover()[name]) for name in ("disk_full", "inodes_full", "saves_left")]
told, kept, failed = [], [], None
for minute in range(1, 241):
    now = 60.0 * minute
    if minute % 20 == 0:
        path = f"{there}/checkpoint-{minute}"
        try:
            with open(path + ".tmp", "wb") as file:
                file.write(bytes(2 << 20))
            os.rename(path + ".tmp", path)
        except OSError:
            failed = minute
            break
        seen = CheckpointSeen(now, path, now, 2 << 20, 1, "pt", float(minute), state="ok")
        history.add(seen)
        kept.append(seen)
        if keep and len(kept) > keep:
            os.unlink(kept.pop(0).path)
        history.checkpoints = list(kept)
    for sample in source.read(now + 50):
        history.add(sample)
    view = history.view(now + 50)
    told += [[minute, name, f.severity.label] for name, rule in rules for f in rule(view)]
print(json.dumps([told, failed]), flush=True)
os._exit(0)
"""


@pytest.mark.system
@pytest.mark.parametrize("keep", [0, 2])
def test_saves_onto_a_real_small_file_system(tmp_path: Path, keep: int) -> None:
    """Two megabytes every 20 minutes onto ten: five of them fit, or two for ever."""
    script = SAVING.replace("int(sys.argv[2])", str(keep))
    told, failed = privately(script, tmp_path, "-rm")
    if keep:
        assert (told, failed) == ([], None)
        return
    first = {name: minute for minute, name, level in reversed(told) if level != "info"}
    # The fourth save leaves room for one; whether more go with it is known some minutes later.
    assert 80 <= first["saves_left"] <= 85
    assert first["disk_full"] == 100, "with the fifth: the next will not fit"
    assert failed == 120
