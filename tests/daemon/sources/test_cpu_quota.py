"""Quotas of control groups: trees of both versions on disk, and a real one."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from middlewatch.daemon.sources.cpu_quota import SETTLE_EVERY, CpuQuota
from middlewatch.daemon.system import procfs
from middlewatch.daemon.system.errors import Unsupported
from middlewatch.sentinels.kit import CpuQuotaSample

pytestmark = pytest.mark.usefixtures("with_and_without_descriptors")

PID = 42
V2 = "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"
V1 = "30 1 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct"


class Box:
    """A /proc and a /sys/fs/cgroup on disk."""

    def __init__(self, root: Path, mount: str, *lines: str) -> None:
        self.root = root
        (root / "proc/self").mkdir(parents=True)
        (root / f"proc/{PID}").mkdir()
        (root / "proc/self/mountinfo").write_text(mount + "\n")
        (root / f"proc/{PID}/cgroup").write_text("".join(f"{line}\n" for line in lines))

    def group(self, path: str, **files: object) -> None:
        folder = self.root / "sys/fs/cgroup" / path
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name.replace("__", ".")).write_text(f"{text}\n")

    def source(self) -> CpuQuota:
        return CpuQuota(PID, str(self.root))


def stat2(periods: int = 0, throttled: int = 0, usec: int = 0) -> str:
    return (
        f"usage_usec 9\nuser_usec 5\nsystem_usec 4\n"
        f"nr_periods {periods}\nnr_throttled {throttled}\nthrottled_usec {usec}"
    )


def one(source: CpuQuota, now: float = 1.0) -> CpuQuotaSample:
    (sample,) = source.read(now)
    return sample


def test_version_2_takes_the_lowest_quota_on_the_way_up(tmp_path: Path) -> None:
    box = Box(tmp_path, V2, "0::/pod/run")
    box.group("", cpu__stat="usage_usec 1")
    box.group("pod", cpu__stat=stat2(900, 450, 7_500_000), cpu__max="40000 100000")
    box.group("pod/run", cpu__stat=stat2(5), cpu__max="max 100000", cgroup__procs=PID)
    assert one(box.source()) == CpuQuotaSample(1.0, "/pod", 0.4, 900, 450, 7.5)


def test_version_1(tmp_path: Path) -> None:
    box = Box(tmp_path, V1, "3:cpu,cpuacct:/job", "2:memory:/other")
    stat = "nr_periods 10\nnr_throttled 4\nthrottled_time 2500000000"
    box.group("cpu", cpu__stat=stat, cpu__cfs_quota_us=-1, cpu__cfs_period_us=100000)
    box.group("cpu/job", cpu__stat=stat, cpu__cfs_quota_us=150000, cpu__cfs_period_us=100000)
    assert one(box.source()) == CpuQuotaSample(1.0, "/job", 1.5, 10, 4, 2.5)


def test_inside_a_container(tmp_path: Path) -> None:
    """The path is told as the box sees it; what is mounted is our own group."""
    box = Box(tmp_path, V2.replace(" / /sys", " /docker/ab12 /sys"), "0::/docker/ab12")
    box.group("", cpu__stat=stat2(7, 1, 5), cpu__max="200000 100000", cgroup__procs=PID)
    assert one(box.source()).cores == 2.0


def test_without_a_quota(tmp_path: Path) -> None:
    box = Box(tmp_path, V2, "0::/run")
    box.group("run", cpu__stat=stat2(), cpu__max="max 100000")
    sample = one(box.source())
    assert (sample.cgroup, sample.cores) == ("/run", None)


def test_a_quota_that_is_set_while_the_run_lives(tmp_path: Path) -> None:
    box = Box(tmp_path, V2, "0::/run")
    box.group("run", cpu__stat=stat2(), cpu__max="max 100000")
    source = box.source()
    assert one(source).cores is None
    box.group("run", cpu__max="40000 100000")
    assert [one(source).cores for _ in range(SETTLE_EVERY)][-1] == 0.4


@pytest.mark.parametrize("text", ["", "max", "0 0", "x y", "-1", "5"])
def test_nonsense_is_no_quota(tmp_path: Path, text: str) -> None:
    box = Box(tmp_path, V2, "0::/run")
    box.group("run", cpu__stat="\0\xff nr_periods", cpu__max=text)
    assert one(box.source()) == CpuQuotaSample(1.0, "/run", None)


def test_no_control_group_is_an_absence(tmp_path: Path) -> None:
    with pytest.raises(Unsupported):
        Box(tmp_path, "30 1 0:1 / / rw - ext4 /dev/x rw", "0::/").source().read(1.0)


def test_a_process_that_is_gone_tells_nothing(tmp_path: Path) -> None:
    source = CpuQuota(77, str(tmp_path))
    assert list(source.read(1.0)) == []
    source.close()


def _cpu_tree() -> Path | None:
    for top in (Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")):
        made = top / "middlewatch-quota-probe"
        with contextlib.suppress(OSError):
            made.mkdir()
            found = (made / "cpu.max").exists() or (made / "cpu.cfs_quota_us").exists()
            made.rmdir()
            if found:
                return top
    return None


@pytest.fixture
def group() -> Iterator[Path]:
    top = _cpu_tree()
    if top is None:
        pytest.skip("no control group with a CPU quota can be made here")
    folder = top / f"middlewatch-quota-{os.getpid()}"
    folder.mkdir()
    yield folder
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            folder.rmdir()
        except OSError:
            time.sleep(0.02)
        else:
            return


@pytest.mark.system
def test_a_real_process_that_is_throttled(group: Path) -> None:
    if (group / "cpu.max").exists():
        (group / "cpu.max").write_text("5000 100000")
    else:
        (group / "cpu.cfs_quota_us").write_text("5000")
    program = "import sys\nsys.stdin.readline()\nwhile True: pass"
    burner = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE)
    try:
        (group / "cgroup.procs").write_text(str(burner.pid))
        source = CpuQuota(burner.pid)
        first = one(source)
        assert first.cores == pytest.approx(0.05)
        assert burner.stdin is not None
        burner.stdin.write(b"go\n")
        burner.stdin.flush()
        deadline = time.monotonic() + 120
        while (last := one(source)).throttled - first.throttled < 3:
            assert time.monotonic() < deadline, "never throttled"
            time.sleep(0.05)
        assert last.periods - first.periods >= 3
        assert last.throttled_s > first.throttled_s
        source.close()
    finally:
        burner.kill()
        burner.wait()
        if burner.stdin:
            burner.stdin.close()


def test_the_processes_of_a_group_are_not_listed_where_no_other_can_be_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The root group has all processes of the box: 300 runs would list them 300 times."""
    box = Box(tmp_path, V2, "0::/")
    box.group("", cpu__stat=stat2(5), cpu__max="max 100000", cgroup__procs=PID)
    read: list[str] = []
    read_file = procfs.read_file

    def noted(path: str, *limit: int) -> bytes:
        read.append(path.rpartition("/")[2])
        return read_file(path, *limit)

    monkeypatch.setattr(procfs, "read_file", noted)
    assert one(box.source()).cgroup == "/"
    assert "cgroup.procs" not in read
    assert "cpu.max" in read
