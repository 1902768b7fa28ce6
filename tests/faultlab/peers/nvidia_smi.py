#!/usr/bin/env python3
"""Stands in for nvidia-smi where there is no driver: same questions, answered from NVML.

Understands ``--query-gpu=FIELDS`` and ``--query-compute-apps=FIELDS`` in CSV, which is all that
gpuwatch and the laboratory's script ask. It loads whatever ``libnvidia-ml.so.1`` it finds, on a
box of the laboratory the double whose scenario a row changes. Exit status 9 without a driver
and 15 for a lost card are those of the real one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pynvml as nv

MIB = 1 << 20


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


GPU: dict[str, Callable[[Any, int], object]] = {
    "index": lambda card, index: index,
    "name": lambda card, index: _text(nv.nvmlDeviceGetName(card)),
    "uuid": lambda card, index: _text(nv.nvmlDeviceGetUUID(card)),
    "utilization.gpu": lambda card, index: nv.nvmlDeviceGetUtilizationRates(card).gpu,
    "memory.used": lambda card, index: nv.nvmlDeviceGetMemoryInfo(card).used // MIB,
    "memory.total": lambda card, index: nv.nvmlDeviceGetMemoryInfo(card).total // MIB,
    "temperature.gpu": lambda card, index: nv.nvmlDeviceGetTemperature(card, 0),
    "power.draw": lambda card, index: f"{nv.nvmlDeviceGetPowerUsage(card) / 1000:.2f}",
    "clocks.sm": lambda card, index: nv.nvmlDeviceGetClockInfo(card, nv.NVML_CLOCK_SM),
    "fan.speed": lambda card, index: "[N/A]",
    "enforced.power.limit": lambda card, index: (
        f"{nv.nvmlDeviceGetEnforcedPowerLimit(card) / 1000:.2f}"
    ),
    "ecc.errors.uncorrected.volatile.total": lambda card, index: nv.nvmlDeviceGetTotalEccErrors(
        card, nv.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, nv.NVML_VOLATILE_ECC
    ),
}
"""What a field is; a card of a data centre has no fan."""


def main(words: list[str]) -> int:
    """Rows on standard output."""
    asked = dict(word.lstrip("-").partition("=")[::2] for word in words)
    try:
        nv.nvmlInit()
    except nv.NVMLError:
        print("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.")
        return 9
    try:
        for index in range(nv.nvmlDeviceGetCount()):
            card = nv.nvmlDeviceGetHandleByIndex(index)
            for row in _rows(card, index, asked):
                print(", ".join(row))
    except nv.NVMLError_GpuIsLost:
        print("Unable to determine the device handle for GPU: GPU is lost.")
        return 15
    return 0


def _rows(card: Any, index: int, asked: dict[str, str]) -> list[list[str]]:
    if "query-gpu" in asked:
        return [[_field(name, card, index) for name in asked["query-gpu"].split(",")]]
    return [
        [_field("uuid", card, index), str(p.pid), "python3", str((p.usedGpuMemory or 0) // MIB)]
        for p in nv.nvmlDeviceGetComputeRunningProcesses(card)
    ]


def _field(name: str, card: Any, index: int) -> str:
    try:
        return str(GPU[name](card, index))
    except nv.NVMLError_GpuIsLost:
        raise
    except nv.NVMLError:
        return "[N/A]"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
