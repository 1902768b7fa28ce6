"""What the sources of the box saw goes to the runs that it concerns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from middlewatch.daemon.config.load import parse
from middlewatch.daemon.config.paths import StateDir
from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.judge.incidents import Incidents
from middlewatch.daemon.service import attribution
from middlewatch.daemon.service.attribution import Attribution
from middlewatch.daemon.service.context import Context
from middlewatch.daemon.service.watched_run import WatchedRun
from middlewatch.daemon.sources.disk import Disks, PlacesOfRun
from middlewatch.daemon.system import mounts, procfs
from middlewatch.daemon.system.loop import Loop
from middlewatch.daemon.system.pump import Pump
from middlewatch.daemon.system.store import Store
from middlewatch.sentinels.kit import (
    GpuSample,
    LogEvent,
    PartsUsed,
    ProcessesSeen,
    ProcessSample,
    SourceState,
)

from ...fakes.clock import FakeClock

BUS = ("00000000:18:00.0", "00000000:2A:00.0")


class Place:
    """Two runs, ``a`` and ``b``; what a source saw is given by hand."""

    def __init__(self, root: Path) -> None:
        self.clock = FakeClock()
        self.loop = Loop(self.clock, lambda error: pytest.fail(repr(error)))
        state = StateDir(root / "state")
        self.context = Context(
            state=state,
            config=parse("", "f"),
            clock=self.clock,
            store=Store(state.store, state.reserve, root),
            incidents=Incidents(),
            pump=Pump(self.loop, self.clock, lambda text: None),
        )
        for name, pid in (("a", 10), ("b", 20)):
            spec = RunSpec(name=name, id=name, pid=pid, cwd="/proc")
            self.context.runs[name] = WatchedRun(spec, self.context.box, self.clock)
            one = ProcessSample(pid + 1, 7, pid, "python", "S", 1.0)
            self.context.runs[name].add_observations([ProcessesSeen(self.clock.now(), (one,))])
        self.who = Attribution(self.context)

    def run(self, name: str) -> WatchedRun:
        return self.context.runs[name]

    def parts(self, name: str, **parts: object) -> None:
        self.run(name).history.add(PartsUsed(self.clock.now(), **parts))  # type: ignore[arg-type]

    def disks(self) -> None:
        """One look at all places, as the pump does it."""
        (pumped,) = [p for p in self.context.box_sources if isinstance(p.source, Disks)]
        for _ in range(2):  # the first may find that the places have changed
            self.who.take(pumped.source.read(self.clock.now()))

    def gpus(self, *pids: tuple[int, ...]) -> None:
        now = self.clock.now()
        self.who.take(
            GpuSample(now, i, f"GPU-{i}", pids=p, minor=i, bus_id=BUS[i])
            for i, p in enumerate(pids)
        )

    def hears(self, text: str, file: str = "kernel", **details: object) -> list[str]:
        """The runs to which an event goes."""
        for run in self.context.runs.values():
            run.history.events.clear()
        now = self.clock.now()
        event = LogEvent(now, "xid", "root", "critical", True, text, file, details=details)
        self.who.take([event])
        return [name for name, run in self.context.runs.items() if run.history.events]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setattr(procfs, "sees_first_pids", lambda: True)
    made = Place(tmp_path)
    yield made
    for pumped in made.context.pump.all():
        pumped.close()
    made.context.store.close()
    made.loop.close()


# -- places -----------------------------------------------------------------------------------


def test_a_mount_is_that_of_the_run_that_has_files_there(place: Place, tmp_path: Path) -> None:
    mount, _ = mounts.Mounts(mounts.table()).resolve(str(tmp_path))
    assert mount is not None
    place.who.watch_disks()
    place.disks()
    assert [list(place.run(n).history.disks) for n in "ab"] == [[], []], "both are in /proc"
    place.parts("a", folders=frozenset({str(tmp_path)}))
    place.parts("b", devices=frozenset({"999:999"}))
    place.disks()
    (mine,) = place.run("a").history.disks.values()
    assert mine[-1].holds == ("files",)
    assert place.run("b").history.disks == {}
    assert "state" in place.context.box.disks[mine[-1].mount][-1].holds
    assert place.who.users(mine[-1].place) == ["a"]


def test_a_mount_is_also_that_of_the_run_that_could_not_write_there(
    place: Place, tmp_path: Path
) -> None:
    place.who.watch_disks()
    place.disks()
    text = f"OSError: [Errno 28] No space left on device: '{tmp_path}/cache/clip_1.npy'"
    event = LogEvent(place.clock.now(), "disk_full", "root", "critical", True, text, "train.log")
    place.run("a").add_observations([event])
    place.disks()
    (mine,) = place.run("a").history.disks.values()
    assert mine[-1].holds == ("files",)
    assert place.run("b").history.disks == {}


def test_two_runs_on_one_mount(place: Place, tmp_path: Path) -> None:
    mount, _ = mounts.Mounts(mounts.table()).resolve(str(tmp_path))
    assert mount is not None
    place.parts("a", devices=frozenset({mount.device}))
    place.parts("b", temporary=frozenset({str(tmp_path)}))
    place.who.watch_disks()
    place.disks()
    (one,), (other,) = (place.run(n).history.disks.values() for n in "ab")
    assert (one[-1].holds, other[-1].holds) == (("files",), ("tmp",))
    assert place.who.users(one[-1].place) == ["a", "b"]


def test_runs_taken_up_together_are_arranged_once(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted is how often the places of a run are worked out, for forty runs that come at once."""
    place.who.watch_disks()
    worked_out: list[str] = []
    places = attribution._places

    def work_out(run: WatchedRun) -> PlacesOfRun:
        worked_out.append(run.spec.id)
        return places(run)

    monkeypatch.setattr(attribution, "_places", work_out)
    context = place.context
    for number in range(40):
        spec = RunSpec(name="r", id=f"r{number}", cwd="/proc")
        context.runs[spec.id] = WatchedRun(spec, context.box, place.clock)
        place.who.watch_disks()
    place.disks()
    assert sorted(worked_out) == sorted(context.runs)
    place.disks()
    assert len(worked_out) == len(context.runs), "nothing has changed"


# -- GPUs -------------------------------------------------------------------------------------


def test_each_run_has_its_own_gpus(place: Place) -> None:
    place.gpus((11,), (21,))
    views = [place.run(n).view(place.clock.now()) for n in "ab"]
    assert [list(v.gpus) for v in views] == [[0], [1]]
    assert [dict(v.stray_gpus) for v in views] == [{}, {}]
    assert place.who.users("gpu:GPU-1") == ["b"]


def test_a_gpu_of_somebody_else(place: Place) -> None:
    place.gpus((11,), (7777,))
    one, other = (place.run(n).view(place.clock.now()) for n in "ab")
    assert (list(one.gpus), one.gpus_known) == ([0], True)
    assert (list(other.gpus), list(other.stray_gpus), other.gpus_known) == ([], [1], False)
    place.parts("b", gpu_minors=frozenset())
    place.gpus((11,), (7777,))
    assert place.run("b").view(place.clock.now()).gpus_known
    assert place.who.users("gpu:GPU-1") == []


# -- events -----------------------------------------------------------------------------------


def test_an_event_about_a_process(place: Place) -> None:
    assert place.hears("Killed process 11 (python)", pid=11) == ["a"]
    assert place.hears("python[20]: segfault at 0 ip 0 sp 0") == ["b"]
    assert place.hears("Killed process 4711 (pip)", pid=4711) == []
    assert place.hears("EXT4-fs error (device sda1)") == ["a", "b"]


def test_an_event_about_a_gpu(place: Place) -> None:
    place.gpus((11,), (7777,))
    place.parts("b", gpu_minors=frozenset())
    place.gpus((11,), (7777,))
    lost = "NVRM: Xid (PCI:0000:18:00): 79, pid='<unknown>', name=<unknown>"
    assert place.hears(lost, xid=79, gpu_bus="0000:18:00") == ["a"]
    assert place.hears("Xid 79 on GPU 0", "nvml", xid=79, gpu=0) == ["a"]
    assert place.hears("Xid 79 on GPU 1", "nvml", xid=79, gpu=1) == []
    # a program of somebody else made a mistake on the GPU of this run
    theirs = "NVRM: Xid (PCI:0000:18:00): 31, pid=7777, name=python, MMU Fault"
    assert place.hears(theirs, xid=31, gpu_bus="0000:18:00") == []
    ours = "NVRM: Xid (PCI:0000:18:00): 31, pid=11, name=python, MMU Fault"
    assert place.hears(ours, xid=31, gpu_bus="0000:18:00") == ["a"]


def test_who_uses_a_gpu_is_not_known(place: Place) -> None:
    place.gpus((), ())
    assert place.hears("Xid 79 on GPU 1", "nvml", xid=79, gpu=1) == ["a", "b"]


def test_in_a_container_the_pids_of_the_kernel_are_others(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(procfs, "sees_first_pids", lambda: False)
    place.who = Attribution(place.context)
    assert place.hears("Killed process 4711 (python)", pid=4711) == ["a", "b"]


def test_the_state_of_a_source_goes_to_all(place: Place) -> None:
    place.who.take([SourceState(place.clock.now(), "nvml", "failed", place.clock.now())])
    for name in "ab":
        assert place.run(name).history.sources["nvml"].state == "failed"
    assert place.who.users("source:nvml") == ["a", "b"]
