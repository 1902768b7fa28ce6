"""Each peer for real: it starts, real trouble that it claims is made, and its alarm arrives.

They take up to a minute and want four Debian packages and one from PyPI, and say something about
other people's programs only: they run when FAULTLAB_PEERS is set, not with every change.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ..bench import Bench
from ..lab import Alarm, NotRun
from .all import peers

pytestmark = [
    pytest.mark.system,
    pytest.mark.slow,
    pytest.mark.skipif(
        "FAULTLAB_PEERS" not in os.environ,
        reason="tests other people's programs, a minute each: FAULTLAB_PEERS=1",
    ),
]

LOOP = "import time\nfor n in range(9999): print('step', n, 'loss 2.5'); time.sleep(0.5)"
Make = Callable[[str], Bench]


@pytest.fixture
def make() -> Iterator[Make]:
    benches: list[Bench] = []

    def one(name: str) -> Bench:
        root = Path(tempfile.mkdtemp(prefix="faultlab-test-"))
        benches.append(Bench(root, peers()[name](), "1"))
        return benches[-1]

    yield one
    for bench in benches:
        bench.close()


def run(bench: Bench, code: str = LOOP, **options: object) -> int:
    disk = bench.root / "checkpoints"
    if "size" in options:
        bench.tmpfs(f"size={options['size']}", disk)
    else:
        disk.mkdir()
    try:
        command = ("python3", "-c", code)
        return bench.train(*command, name="small", checkpoints=[disk]).pid
    except NotRun as reason:
        pytest.skip(str(reason))


def heard(bench: Bench, trouble: str, within_s: float = 55.0) -> Alarm:
    def first() -> Alarm | None:
        told = bench.watcher.alarms()
        return next((a for a in told if trouble in getattr(a, "fits", ())), None)

    found = bench.until(first, within_s, f"an alarm that fits {trouble}")
    assert found is not None
    return found


def test_monit_names_the_process_that_ended(make: Make) -> None:
    bench = make("monit-tuned")
    pid = run(bench)
    time.sleep(2)
    os.kill(pid, 9)
    alarm = heard(bench, "process_killed", 30)
    assert "small" in alarm.title + alarm.body
    assert alarm.severity == "page"


@pytest.mark.parametrize("name", ["netdata-tuned", "prometheus-tuned"])
def test_a_box_monitor_names_the_disk_that_is_full(make: Make, name: str) -> None:
    bench = make(name)
    run(bench, size="8m")
    disk = bench.root / "checkpoints"
    time.sleep(6)
    (disk / "filler").write_bytes(bytes(8 << 20))
    alarm = heard(bench, "disk_full")
    assert "checkpoints" in alarm.body
    assert alarm.severity == "page"


@pytest.mark.parametrize("name", ["netdata-tuned", "prometheus-tuned"])
def test_the_script_of_the_hour_tells_that_the_run_is_gone(make: Make, name: str) -> None:
    bench = make(name)
    pid = run(bench)
    time.sleep(8)
    os.kill(pid, 9)
    assert "small" in heard(bench, "process_killed").body


def test_gpuwatch_tells_processes_that_vanished(make: Make) -> None:
    bench = make("gpuwatch-tuned")
    pid = run(bench)
    time.sleep(16)
    os.kill(pid, 9)
    alarm = heard(bench, "process_killed", 40)
    assert str(pid) in alarm.title + alarm.body
