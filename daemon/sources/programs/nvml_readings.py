"""What is read of a GPU, and by which functions of NVML; used by the program beside it, and by nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

LATELY_S = 15.0
"""Seconds for which a part of a GPU's time counts: a kernel that shares it is missing in single samples (seen on an
H100). As old as samples may be that count as the present (``GPU_LOOK_S``)."""

# Values of NVML_ERROR_* in nvml.h; they have never changed.
NOT_SUPPORTED, NO_PERMISSION, NOT_FOUND, FUNCTION_NOT_FOUND = 3, 4, 6, 13
DRIVER_NOT_LOADED, LIBRARY_NOT_FOUND = 9, 12
INVALID_ARGUMENT, NO_DATA, VERSION_MISMATCH, DEPRECATED = 2, 21, 25, 26
GPU_IS_LOST = 15
ABSENT = frozenset({DRIVER_NOT_LOADED, LIBRARY_NOT_FOUND, NO_PERMISSION})
UNKNOWABLE = frozenset(
    {INVALID_ARGUMENT, NOT_SUPPORTED, NO_PERMISSION, FUNCTION_NOT_FOUND, NO_DATA}
    | {VERSION_MISMATCH, DEPRECATED}
)

REASONS = {
    0x001: "idle",
    0x002: "app_clocks",
    0x004: "sw_power_cap",
    0x008: "hw_slowdown",
    0x010: "sync_boost",
    0x020: "sw_thermal",
    0x040: "hw_thermal",
    0x080: "hw_power_brake",
    0x100: "display",
    0x200: "board_limit",
    0x400: "reliability",
}
"""Bits of nvmlClocksEventReason*."""

Reading = Callable[[Any, Any], Mapping[str, Any]]
"""(pynvml, device handle) to keys of the answer; raises NVMLError."""


def _call(nvml: Any, names: Sequence[str], *arguments: Any) -> Any:
    """Call the first of ``names`` that both the binding and the installed driver have."""
    for name in names:
        function = getattr(nvml, name, None)
        if function is None:
            continue
        try:
            return function(*arguments)
        except nvml.NVMLError as error:
            if error.value not in (FUNCTION_NOT_FOUND, DEPRECATED):
                raise
    raise nvml.NVMLError(FUNCTION_NOT_FOUND)


def _utilization(nvml: Any, gpu: Any) -> Mapping[str, Any]:
    rates = nvml.nvmlDeviceGetUtilizationRates(gpu)
    return {"util_ratio": rates.gpu / 100, "mem_busy_ratio": rates.memory / 100}


def _memory(nvml: Any, gpu: Any) -> Mapping[str, Any]:
    try:  # the second version does not count what the driver keeps for itself as used
        memory = nvml.nvmlDeviceGetMemoryInfo(gpu, version=nvml.nvmlMemory_v2)
    except nvml.NVMLError as error:
        if error.value not in UNKNOWABLE:
            raise
        memory = nvml.nvmlDeviceGetMemoryInfo(gpu)
    return {"mem_used_bytes": memory.used, "mem_total_bytes": memory.total}


def _power(nvml: Any, gpu: Any) -> Mapping[str, Any]:
    return {"power_w": nvml.nvmlDeviceGetPowerUsage(gpu) / 1000}


def _temperature(nvml: Any, gpu: Any) -> Mapping[str, Any]:
    names = ("nvmlDeviceGetTemperature", "nvmlDeviceGetTemperatureV")
    return {"temp_c": _call(nvml, names, gpu, nvml.NVML_TEMPERATURE_GPU)}


def _clock(nvml: Any, gpu: Any) -> Mapping[str, Any]:
    return {"sm_clock_mhz": nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_SM)}


def _reasons(nvml: Any, gpu: Any) -> Mapping[str, Any]:
    names = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")
    bits = _call(nvml, names, gpu)
    return {"clock_reasons": [name for bit, name in REASONS.items() if bits & bit]}


def _power_limit(nvml: Any, gpu: Any) -> Mapping[str, Any]:
    return {"power_limit_w": nvml.nvmlDeviceGetEnforcedPowerLimit(gpu) / 1000}


def _processes(nvml: Any, gpu: Any) -> Mapping[str, Any]:
    # Not the plain name: pynvml makes that one fail where driver and binding differ in age.
    names = [f"nvmlDeviceGetComputeRunningProcesses_v{version}" for version in (3, 2)]
    return {"pids": sorted({process.pid for process in _call(nvml, names, gpu)})}


def _ecc(nvml: Any, gpu: Any) -> Mapping[str, Any]:
    kind, counter = nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, nvml.NVML_VOLATILE_ECC
    return {"ecc_uncorrected": nvml.nvmlDeviceGetTotalEccErrors(gpu, kind, counter)}


def _remapped_rows(nvml: Any, gpu: Any) -> Mapping[str, Any]:
    _, _, pending, failed = nvml.nvmlDeviceGetRemappedRows(gpu)
    return {"remap_pending": bool(pending), "remap_failed": bool(failed)}


def _name(nvml: Any, gpu: Any) -> Mapping[str, Any]:
    return {"name": nvml.nvmlDeviceGetName(gpu)}


CHEAP: Mapping[str, tuple[Reading, tuple[str, ...]]] = {
    "utilization": (_utilization, ("util_ratio", "mem_busy_ratio")),
    "memory": (_memory, ("mem_used_bytes", "mem_total_bytes")),
    "power": (_power, ("power_w",)),
    "temperature": (_temperature, ("temp_c",)),
    "clock": (_clock, ("sm_clock_mhz",)),
    "clock_reasons": (_reasons, ("clock_reasons",)),
}
COUNTERS: Mapping[str, tuple[Reading, tuple[str, ...]]] = {"ecc": (_ecc, ("ecc_uncorrected",))}
DEAR: Mapping[str, tuple[Reading, tuple[str, ...]]] = {
    "power_limit": (_power_limit, ("power_limit_w",)),
    "processes": (_processes, ("pids",)),
    "remapped_rows": (_remapped_rows, ("remap_pending", "remap_failed")),
    "name": (_name, ("name",)),
    "minor": (lambda n, gpu: {"minor": n.nvmlDeviceGetMinorNumber(gpu)}, ("minor",)),
    "bus_id": (lambda n, gpu: {"bus_id": str(n.nvmlDeviceGetPciInfo(gpu).busId)}, ("bus_id",)),
    "cc": (lambda n, gpu: {"cc": list(n.nvmlDeviceGetCudaComputeCapability(gpu))}, ("cc",)),
}
UNKNOWN: dict[str, Any] = {
    key: None for tier in (CHEAP, COUNTERS, DEAR) for _, keys in tier.values() for key in keys
} | {"shares": None}


class Shares:
    """Which part of a GPU's time each process had lately; asked only of a GPU that several use."""

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self._clock = clock
        self._since = 0
        self._seen: dict[int, tuple[float, float]] = {}

    def read(self, nvml: Any, gpu: Any) -> Mapping[str, Any]:
        """The largest part, from 0 to 1, that each process had within :data:`LATELY_S`; one that had none is not named."""
        now = self._clock()
        lately = {pid: seen for pid, seen in self._seen.items() if now - seen[0] < LATELY_S}
        try:
            for one in nvml.nvmlDeviceGetProcessUtilization(gpu, self._since):
                self._since = max(self._since, one.timeStamp)
                part = one.smUtil / 100
                if part >= lately.get(one.pid, (0.0, 0.0))[1]:
                    lately[one.pid] = (now, part)
        except nvml.NVMLError as error:
            if error.value != NOT_FOUND:
                raise  # NOT_FOUND: no process had any since then
        self._seen = lately
        return {"shares": {str(pid): part for pid, (_, part) in lately.items()}}
