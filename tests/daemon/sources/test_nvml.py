from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from middlewatch.daemon.sources.nvml import Nvml
from middlewatch.daemon.sources.programs.nvml_readings import LATELY_S, NOT_FOUND, Shares
from middlewatch.daemon.system.errors import Unsupported
from middlewatch.daemon.system.source import TelemetryLost
from middlewatch.sentinels.kit import GpuSample, LogEvent, Observation

from ...fakes.nvml_library import NvmlDouble

PATIENCE_S = 120.0
DEADLINE_S = 5.0
FIRST, SECOND = (f"GPU-00000000-0000-4000-8000-00000000000{n}" for n in (0, 1))


class Hand:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.mono = 1000.0

    def now(self) -> float:
        return 1_700_000_000.0 + self.mono

    def monotonic(self) -> float:
        return self.mono

    def sleep(self, seconds: float) -> None:
        self.mono += seconds


class Watch:
    """Does with the source what the daemon does: a turn a second, answers as they come."""

    def __init__(self, env: dict[str, str]) -> None:
        self.clock = Hand()
        self.source = Nvml(self.clock, env, DEADLINE_S)
        self.said: list[LogEvent] = []

    def turn(self, step_s: float = 1.0) -> list[GpuSample]:
        """One turn, and the wait for its answer."""
        self.clock.mono += step_s
        found = list(self.source.read(self.clock.now()))
        for fd in self.source.fds():
            assert select.select([fd], [], [], PATIENCE_S)[0], "no answer"
            found += self.source.ready(fd, self.clock.now())
        self.said += [o for o in found if isinstance(o, LogEvent)]
        return gpus(found)

    def look(self, step_s: float = 1.0) -> list[GpuSample]:
        """One turn without a wait."""
        self.clock.mono += step_s
        return gpus(self.source.read(self.clock.now()))

    @property
    def stalled(self) -> str | None:
        return self.source.stalled(self.clock.now())

    @property
    def pid(self) -> int | None:
        return self.source._child.pid if self.source._child else None


def gpus(observations: Any) -> list[GpuSample]:
    found: list[Observation] = list(observations)
    assert all(isinstance(o, GpuSample | LogEvent) for o in found)
    return [o for o in found if isinstance(o, GpuSample)]


def until(condition: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + PATIENCE_S
    while not (met := condition()):
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.005)
    return met


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.fixture
def watch(nvml_double: NvmlDouble) -> Iterator[Watch]:
    watch = Watch(nvml_double.whole_env)
    yield watch
    pid = watch.pid
    watch.source.close()
    if pid is not None:
        until(lambda: not running(pid))


def test_two_busy_gpus(watch: Watch) -> None:
    full, bare = watch.turn()
    assert full == GpuSample(
        at=watch.clock.now(),
        index=0,
        uuid=FIRST,
        name="NVIDIA H100 80GB HBM3",
        util_ratio=0.98,
        mem_used_bytes=61203283968,
        mem_total_bytes=85520809984,
        power_w=643.0,
        power_limit_w=700.0,
        temp_c=61,
        sm_clock_mhz=1755,
        throttle=("sw_power_cap",),
        pids=(4242, 4243),
        ecc_new=0,
        remap_failed=False,
        bus_id="00000000:18:00.0",
        capability="9.0",
        mem_busy_ratio=0.54,
    )
    assert (bare.index, bare.uuid, bare.util_ratio, bare.pids) == (1, SECOND, 1.0, ())
    assert bare.power_limit_w is None
    assert bare.throttle == ()
    assert bare.capability == ""
    assert bare.error is None
    assert watch.stalled is None


def test_a_sample_every_second_from_one_child(watch: Watch) -> None:
    watch.turn()
    pid = watch.pid
    assert [len(watch.turn()) for _ in range(5)] == [2] * 5
    assert watch.pid == pid


def test_an_answer_that_nobody_fetched_is_taken_at_the_next_turn(watch: Watch) -> None:
    assert watch.look() == []
    assert len(until(watch.look)) == 2


def test_what_the_driver_does_not_support_is_unknown_not_zero(
    watch: Watch, nvml_double: NvmlDouble
) -> None:
    nvml_double.scenario(nvml_double.stored("mig"))
    (gpu,) = watch.turn()
    assert gpu.util_ratio is None
    assert gpu.sm_clock_mhz is None
    assert gpu.power_w == 92.0
    assert not gpu.lost
    assert gpu.error is None


@pytest.mark.parametrize("error", [2, 3, 4, 13, 25])
def test_a_function_that_is_absent_or_refused_is_unknown(
    watch: Watch, nvml_double: NvmlDouble, error: int
) -> None:
    names = ("GetUtilizationRates", "GetComputeRunningProcesses_v3", "GetMemoryInfo")
    fails = "".join(f"fail.nvmlDevice{name} = {error}\n" for name in names)
    older = "fail.nvmlDeviceGetComputeRunningProcesses_v2 = 13\n"
    nvml_double.scenario(fails + older + nvml_double.stored("two_h100"))
    gpu, _ = watch.turn()
    assert (gpu.util_ratio, gpu.pids, gpu.mem_used_bytes) == (None, None, None)
    assert gpu.power_w == 643.0
    assert gpu.error is None


def test_an_older_driver_lists_processes_in_its_own_way(
    watch: Watch, nvml_double: NvmlDouble
) -> None:
    fail = "fail.nvmlDeviceGetComputeRunningProcesses_v3 = 13\n"
    nvml_double.scenario(fail + nvml_double.stored("two_h100"))
    assert watch.turn()[0].pids == (4242, 4243)


def test_whose_time_it_is_on_a_shared_gpu(watch: Watch, nvml_double: NvmlDouble) -> None:
    box = nvml_double.stored("two_h100")
    shared = box.replace("procs = ", "shares = 4242:33 4243:66\nprocs = ")
    nvml_double.scenario(shared)
    assert [gpu.shares for gpu in watch.turn()] == [((4242, 0.33), (4243, 0.66)), None]
    # A single sample without it proves nothing: the kernels take turns.
    nvml_double.scenario(shared.replace("4242:33 ", ""))
    watch.turn(4.0)
    assert dict(watch.turn()[0].shares or ()) == {4242: 0.33, 4243: 0.66}


class DriverError(Exception):
    value = NOT_FOUND


def test_a_part_of_a_gpu_is_forgotten() -> None:
    told = [SimpleNamespace(pid=1, timeStamp=5, smUtil=40)]

    def utilisation(_gpu: object, since: int) -> list[Any]:
        if not (newer := [one for one in told if one.timeStamp > since]):
            raise DriverError
        return newer

    driver = SimpleNamespace(nvmlDeviceGetProcessUtilization=utilisation, NVMLError=DriverError)
    at = 0.0
    shares = Shares(lambda: at)
    assert shares.read(driver, None) == {"shares": {"1": 0.4}}
    at = LATELY_S - 1.0
    assert shares.read(driver, None) == {"shares": {"1": 0.4}}
    at = LATELY_S
    assert shares.read(driver, None) == {"shares": {}}


def test_an_older_driver_knows_the_reasons_under_their_old_name(
    watch: Watch, nvml_double: NvmlDouble
) -> None:
    fail = "fail.nvmlDeviceGetCurrentClocksEventReasons = 13\n"
    nvml_double.scenario(fail + nvml_double.stored("two_h100"))
    assert watch.turn()[0].throttle == ("sw_power_cap",)


@pytest.mark.parametrize(
    ("bits", "names"),
    [
        (0x0, ()),
        (0x1 | 0x2 | 0x10 | 0x100, ()),
        (0x4, ("sw_power_cap",)),
        (0x8 | 0x40, ("hw_slowdown", "hw_thermal")),
        (0x8 | 0x80, ("hw_slowdown", "hw_power_brake")),
        (0x20, ("sw_thermal",)),
        (1 << 40, ()),
    ],
)
def test_reasons_that_cost_speed(
    watch: Watch, nvml_double: NvmlDouble, bits: int, names: tuple[str, ...]
) -> None:
    nvml_double.scenario(f"[gpu 0]\nuuid = GPU-a\nclock_reasons = {bits:#x}\n")
    assert watch.turn()[0].throttle == names


def test_a_gpu_falls_off_the_bus_while_the_other_answers(
    watch: Watch, nvml_double: NvmlDouble
) -> None:
    watch.turn()
    nvml_double.scenario(nvml_double.stored("two_h100") + "lost = 1\n")
    well, lost = watch.turn()
    assert (well.lost, well.util_ratio) == (False, 0.98)
    assert (lost.lost, lost.util_ratio, lost.power_w) == (True, None, None)
    assert (lost.index, lost.uuid, lost.name) == (1, SECOND, "NVIDIA H100 80GB HBM3")


def test_a_gpu_that_is_lost_from_the_start(watch: Watch, nvml_double: NvmlDouble) -> None:
    nvml_double.scenario(nvml_double.stored("two_h100") + "lost = 1\n")
    assert [(g.index, g.lost) for g in watch.turn()] == [(0, False), (1, True)]


def test_a_gpu_that_the_driver_no_longer_lists_is_lost(
    watch: Watch, nvml_double: NvmlDouble
) -> None:
    watch.turn()
    text = nvml_double.stored("two_h100")
    nvml_double.scenario(text[: text.index("[gpu 1]")])
    for _ in range(3):
        well, lost = watch.turn()
        assert not well.lost
        assert (lost.index, lost.uuid, lost.lost) == (1, SECOND, True)
    nvml_double.scenario(text)
    assert [g.lost for g in watch.turn()] == [False, False]


def test_the_others_keep_their_index_when_one_vanishes(
    watch: Watch, nvml_double: NvmlDouble
) -> None:
    watch.turn()
    text = nvml_double.stored("two_h100")
    nvml_double.scenario("[gpu 0]" + text[text.index("[gpu 1]") + len("[gpu 1]") :])
    assert [(g.index, g.uuid, g.lost) for g in watch.turn()] == [
        (0, FIRST, True),
        (1, SECOND, False),
    ]


def test_a_swapped_card_is_not_lost(watch: Watch, nvml_double: NvmlDouble) -> None:
    nvml_double.scenario("[gpu 0]\nuuid = GPU-old\n")
    watch.turn()
    nvml_double.scenario("")  # the driver is loaded anew
    assert [g.lost for g in watch.turn()] == [True]
    nvml_double.scenario("[gpu 0]\nuuid = GPU-new\n")
    assert [(g.uuid, g.lost) for g in watch.turn()] == [("GPU-new", False)]


def test_another_error_of_one_gpu_is_told_and_is_no_loss(
    watch: Watch, nvml_double: NvmlDouble
) -> None:
    text = nvml_double.stored("two_h100")
    nvml_double.scenario(text + "fail = 16\n")
    well, ill = watch.turn()
    assert well.error is None
    assert not ill.lost
    assert ill.error == "GPU requires restart"
    nvml_double.scenario(text)
    assert [g.error for g in watch.turn(15.0)] == [None, None]


def test_dear_readings_come_every_fifteen_seconds(watch: Watch, nvml_double: NvmlDouble) -> None:
    watch.turn()
    text = nvml_double.stored("two_h100")
    nvml_double.scenario(text.replace("4242:", "4244:").replace("util_gpu = 98", "util_gpu = 12"))
    (gpu, _) = watch.turn()
    assert (gpu.util_ratio, gpu.pids) == (0.12, (4242, 4243))
    (gpu, _) = watch.turn(14.0)
    assert gpu.pids == (4243, 4244)


def test_a_slow_call_is_made_less_often(watch: Watch, nvml_double: NvmlDouble) -> None:
    text = nvml_double.stored("two_h100")
    nvml_double.scenario("delay_ms.nvmlDeviceGetPowerUsage = 10\n" + text)
    assert watch.turn()[0].power_w == 643.0
    assert watch.turn()[0].power_w == 643.0
    nvml_double.scenario(text.replace("643000", "300000").replace("util_gpu = 98", "util_gpu = 3"))
    powers = []
    for _ in range(10):
        gpu = watch.turn()[0]
        assert gpu.util_ratio == 0.03
        powers.append(gpu.power_w)
    assert powers == [643.0] * 9 + [300.0]


def test_failing_memory_is_told(watch: Watch, nvml_double: NvmlDouble) -> None:
    text = nvml_double.stored("two_h100")
    watch.turn()
    nvml_double.scenario(
        text.replace("volatile = 0", "volatile = 7").replace("remap = 0 0 0 0", "remap = 0 1 1 0")
    )
    assert watch.turn()[0].error is None
    error = watch.turn(15.0)[0].error
    assert error is not None
    assert "row remapping pending" in error
    assert "7 new uncorrected ECC errors" in error
    nvml_double.scenario(
        text.replace("volatile = 0", "volatile = 7").replace("remap = 0 0 0 0", "remap = 0 1 0 1")
    )
    assert watch.turn(61.0)[0].error == "row remapping failed"


def test_ecc_errors_from_before_the_watch_are_old_news(
    watch: Watch, nvml_double: NvmlDouble
) -> None:
    text = nvml_double.stored("two_h100").replace("volatile = 0", "volatile = 900")
    nvml_double.scenario(text)
    assert watch.turn()[0].error is None


def test_a_hang_is_told_killed_and_healed(watch: Watch, nvml_double: NvmlDouble) -> None:
    watch.turn()
    pid = watch.pid
    assert pid is not None
    text = nvml_double.stored("two_h100")
    nvml_double.scenario("delay_ms.nvmlDeviceGetPowerUsage = 600000\n" + text)
    assert watch.look() == []
    assert watch.stalled is None
    for _ in range(6):
        assert watch.look() == []
    assert watch.stalled == "the driver has not answered for 6 s"
    assert running(pid)
    for _ in range(10):
        assert watch.look() == []
    until(lambda: not running(pid))
    nvml_double.scenario(text)
    assert watch.stalled == "the driver has not answered for 16 s"
    assert watch.look(0.5) == []
    assert watch.pid is None, "a pause before the next child"
    assert len(watch.turn(1.0)) == 2
    assert watch.pid != pid
    assert watch.stalled is None


def test_a_hang_in_the_first_call_has_more_time(watch: Watch, nvml_double: NvmlDouble) -> None:
    text = nvml_double.stored("two_h100")
    nvml_double.scenario("delay_ms.nvmlInit = 600000\n" + text)
    watch.look()
    watch.look(29.0)
    assert watch.stalled is None
    watch.look(2.0)
    assert watch.stalled == "the driver has not answered for 31 s"


def test_no_driver_is_an_absence_and_nothing_stays(watch: Watch, nvml_double: NvmlDouble) -> None:
    nvml_double.unload()
    assert watch.look() == []
    pid = watch.pid
    assert pid is not None
    with pytest.raises(Unsupported, match="Driver Not Loaded"):
        watch.turn(0.1)
    assert list(watch.source.fds()) == []
    until(lambda: not running(pid))
    nvml_double.scenario(nvml_double.stored("two_h100"))
    assert len(watch.turn(600.0)) == 2


@pytest.mark.parametrize("error", [4, 9, 12])
def test_errors_of_the_start_that_mean_absence(
    watch: Watch, nvml_double: NvmlDouble, error: int
) -> None:
    nvml_double.scenario(f"fail.nvmlInit = {error}\n")
    with pytest.raises(Unsupported):
        watch.turn()


def test_no_library_is_an_absence() -> None:
    watch = Watch({k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"})
    try:
        watch.turn()
    except Unsupported:
        pass
    else:
        pytest.skip("this box has an NVIDIA driver")
    finally:
        watch.source.close()


def test_a_driver_without_gpus_is_an_absence(watch: Watch, nvml_double: NvmlDouble) -> None:
    nvml_double.scenario("count = 0\n")
    with pytest.raises(Unsupported, match="sees no GPU"):
        watch.turn()


@pytest.mark.parametrize("how", ["init and calls", "count", "calls"])
def test_unknown_error_after_good_answers_is_telemetry_lost(
    watch: Watch, nvml_double: NvmlDouble, how: str
) -> None:
    text = nvml_double.stored("two_h100")
    watch.turn()
    if how == "count":
        nvml_double.scenario("fail.nvmlDeviceGetCount = 999\n" + text)
    else:
        init = "fail.nvmlInit = 999\n" if how == "init and calls" else ""
        nvml_double.scenario(init + text.replace("[gpu 1]", "fail = 999\n[gpu 1]\nfail = 999"))
    for _ in range(3):
        with pytest.raises(TelemetryLost, match="Unknown Error"):
            watch.turn()
    nvml_double.scenario(text)

    def answered() -> list[GpuSample]:
        with contextlib.suppress(TelemetryLost):
            return watch.look()
        return []

    assert [g.lost for g in until(answered)] == [False, False]


def test_a_driver_that_goes_away_is_telemetry_lost_not_absence(
    watch: Watch, nvml_double: NvmlDouble
) -> None:
    watch.turn()
    nvml_double.unload()
    pid = watch.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    until(lambda: not running(pid))
    assert watch.look() == []
    assert watch.pid not in (None, pid)
    with pytest.raises(TelemetryLost, match="Driver Not Loaded"):
        watch.turn(0.1)
    assert watch.pid is None


def test_a_child_that_dies_over_a_question_is_a_failure(
    watch: Watch, nvml_double: NvmlDouble
) -> None:
    text = nvml_double.stored("two_h100")
    watch.turn()
    nvml_double.scenario("delay_ms.nvmlDeviceGetPowerUsage = 600000\n" + text)
    watch.look()
    pid = watch.pid
    assert pid is not None
    os.kill(pid, signal.SIGSEGV)
    until(lambda: not running(pid))
    with pytest.raises(TelemetryLost, match="the NVML process ended"):
        watch.turn(0.1)
    with pytest.raises(TelemetryLost, match="ended"):
        watch.look(0.1)
    nvml_double.scenario(text)
    with pytest.raises(TelemetryLost, match="ended"):
        watch.look(2.0)
    (fd,) = watch.source.fds()
    assert select.select([fd], [], [], PATIENCE_S)[0]
    assert len(gpus(watch.source.ready(fd, 0.0))) == 2


def test_a_version_mismatch_is_a_failure_from_the_start(
    watch: Watch, nvml_double: NvmlDouble
) -> None:
    nvml_double.scenario("fail.nvmlInit = 18\n")
    with pytest.raises(TelemetryLost, match=r"(?i)mismatch"):
        watch.turn()


def test_the_child_dies_with_the_daemon_even_in_a_hang(nvml_double: NvmlDouble) -> None:
    nvml_double.scenario("delay_ms.nvmlInit = 600000\n")
    program = """
import signal
from middlewatch.daemon.system.clock import SystemClock
from middlewatch.daemon.sources.nvml import Nvml
source = Nvml(SystemClock())
source.read(0.0)
print(source._child.pid, flush=True)
signal.pause()
"""
    daemon = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, env=nvml_double.whole_env
    )
    assert daemon.stdout is not None
    pid = int(daemon.stdout.readline())
    until(lambda: b"programs/nvml.py" in Path(f"/proc/{pid}/cmdline").read_bytes())
    daemon.kill()
    daemon.wait()
    daemon.stdout.close()
    until(lambda: not running(pid))


def test_the_child_stays_small(watch: Watch) -> None:
    for _ in range(20):
        watch.turn()
    lines = Path(f"/proc/{watch.pid}/status").read_text().splitlines()
    anonymous = next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))
    assert anonymous < 9 * 1024, f"{anonymous} KiB of its own"


def test_close_before_the_first_question() -> None:
    source = Nvml(Hand())
    source.close()
    assert list(source.fds()) == []
    assert source.stalled(0.0) is None


def test_counters_are_read_every_four_seconds(watch: Watch, nvml_double: NvmlDouble) -> None:
    watch.turn()
    scenario = nvml_double.stored("two_h100")
    nvml_double.scenario(scenario.replace("volatile = 0", "volatile = 2"))
    news = [watch.turn()[0].ecc_new for _ in range(5)]
    assert news[0] == 0
    assert news[-2:] == [2, 2]
    assert watch.turn()[1].ecc_new is None, "a board that does not count"


def test_an_xid_is_reported_once(watch: Watch, nvml_double: NvmlDouble) -> None:
    scenario = nvml_double.stored("two_h100")
    nvml_double.scenario(scenario + "xids = 31\n")
    watch.turn()
    watch.turn()
    assert watch.said == [], "what was there before anybody asked is not reported"
    nvml_double.scenario(scenario + "xids = 31 63 79\n")
    watch.turn()
    watch.turn()
    noted, fatal = watch.said
    assert (noted.severity, noted.fatal, noted.details) == ("warning", False, {"xid": 63, "gpu": 1})
    assert (fatal.severity, fatal.fatal, fatal.details) == ("critical", True, {"xid": 79, "gpu": 1})
    assert fatal.text == "Xid 79 on GPU 1: the GPU has fallen off the bus"


@pytest.mark.parametrize(
    "without",
    [
        "event_types = 0",
        "fail.nvmlDeviceGetSupportedEventTypes = 13",
        "fail.nvmlDeviceRegisterEvents = 3",
        "fail.nvmlEventSetWait = 15",
    ],
)
def test_a_board_that_reports_nothing(watch: Watch, nvml_double: NvmlDouble, without: str) -> None:
    nvml_double.scenario(f"{without}\n{nvml_double.stored('two_h100')}{without}\n")
    assert len(watch.turn()) == 2
    nvml_double.scenario(f"{without}\n{nvml_double.stored('two_h100')}{without}\nxids = 79\n")
    assert len(watch.turn()) == 2
    assert watch.said == []


def test_what_is_usual_at_full_load(watch: Watch, nvml_double: NvmlDouble) -> None:
    assert {watch.turn()[0].sm_clock_usual_mhz for _ in range(14)} == {None}
    watch.turn()
    scenario = nvml_double.stored("two_h100").replace("clock.sm = 1755", "clock.sm = 600")
    nvml_double.scenario(scenario)
    assert {watch.turn()[0].sm_clock_usual_mhz for _ in range(40)} == {1755}
    assert watch.turn()[0].power_usual_w == 643.0


def test_an_idle_card_tells_nothing_of_what_is_usual(watch: Watch, nvml_double: NvmlDouble) -> None:
    nvml_double.scenario(nvml_double.stored("two_h100").replace("util_gpu = 98", "util_gpu = 40"))
    assert {watch.turn()[0].sm_clock_usual_mhz for _ in range(20)} == {None}
