"""The only program that talks to the NVIDIA driver; run by path, in a process of its own.

A driver call on a failing GPU may never return, and a thread stuck in it cannot be ended; a
process can be killed. So this file imports nothing of the package and runs as
``python -I -S nvml.py FOLDER_OF_PYNVML`` in about 13 MB.

One question per line on stdin, one answer per line on stdout::

    {"ask": "sample", "dear": false, "counters": false}
    {"gpus": [{"index": 0, "uuid": "GPU-…", "util_ratio": 0.98, …}], "driver": "550.54.15",
     "took_ms": {"power": 0.4, …}, "xids": [[0, 79], …]}
    {"unsupported": "…"}    this box has no NVIDIA driver; the program ends after it
    {"error": "…"}          the driver is there but does not answer properly

A GPU has the keys of ``CHEAP``, ``COUNTERS`` and ``DEAR`` below, and ``shares``: of a GPU that several processes use, which
part of its time each had lately. ``null`` means that the GPU or its
partition (MIG) does not report the value; it never means 0. ``lost`` is true only for
NVML_ERROR_GPU_IS_LOST; ``error`` is any other error of one GPU. Process ids are those of the
driver: inside a container they may be those of the host, or missing.

Dear calls (those that hold the driver's locks for long, or whose result hardly changes) are made
when the question says ``dear``; in between, their last result is used. Error counters, which are
needed within seconds, are read when it says ``counters``. ``xids`` are the critical errors reported
by the driver since the last answer, as (index, code); the kernel log has them too, but containers
can rarely read it. A call that took longer than ``BUDGET_MS`` twice in a row (once may be a busy
CPU) is left out of the next ``REST`` samples, and from then on after each slow one.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import sys
from collections.abc import Mapping, Sequence
from time import perf_counter
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .nvml_readings import (
        ABSENT,
        CHEAP,
        COUNTERS,
        DEAR,
        GPU_IS_LOST,
        UNKNOWABLE,
        UNKNOWN,
        Reading,
        Shares,
    )
else:  # executed by its path, what lies beside it is no package
    sys.path.append(os.path.dirname(os.path.realpath(__file__)))
    from nvml_readings import (
        ABSENT,
        CHEAP,
        COUNTERS,
        DEAR,
        GPU_IS_LOST,
        UNKNOWABLE,
        UNKNOWN,
        Reading,
        Shares,
    )

BUDGET_MS = 5.0
"""Eight GPUs with six cheap calls of this cost are a quarter of every second: the most a
watcher may take of the locks that the training itself needs."""
REST = 9
EVENTS, XID_EVENT, DOUBLE_BIT_XID = 0x2 | 0x8, 0x8, 48  # double-bit ECC errors, and Xids
MOST_EVENTS = 32
"""Events in an answer at most: a failing GPU reports without end; the rest waits."""


class Lost(Exception):
    """The driver says NVML_ERROR_GPU_IS_LOST."""


class Gpu:
    """One device: its handle, its last answer, and which calls are paused as they are slow."""

    def __init__(self, nvml: Any, index: int) -> None:
        self._nvml = nvml
        self._index = index
        self._handle: Any = None
        self._uuid: str | None = None
        self._values: dict[str, Any] = dict(UNKNOWN)
        self._complaints: dict[str, str] = {}
        self._slow: dict[str, int] = {}
        self._rests: dict[str, int] = {}
        self._known_dear = False
        self._shares = Shares()

    @property
    def handle(self) -> Any:
        """The driver's handle of the device; ``None`` until it could be opened."""
        return self._handle

    def sample(self, dear: bool, counters: bool, took_ms: dict[str, float]) -> dict[str, Any]:
        """The present values of the GPU; adds the ms of each call to ``took_ms``, by name."""
        lost = False
        try:
            if self._opened():
                calls = dict(CHEAP)
                if counters or dear or not self._known_dear:
                    calls |= COUNTERS
                if dear or not self._known_dear:
                    calls |= DEAR
                for name, (reading, keys) in calls.items():
                    self._read(name, reading, keys, took_ms)
                if len(self._values["pids"] or ()) < 2:
                    self._values["shares"] = None
                elif counters or dear:
                    self._read("shares", self._shares.read, ("shares",), took_ms)
                self._known_dear = True
        except Lost:
            lost = True
            self._complaints.clear()
        values = UNKNOWN | {"name": self._values["name"]} if lost else self._values
        text = "; ".join(dict.fromkeys(self._complaints.values())) or None
        return {"index": self._index, "uuid": self._uuid, "lost": lost, "error": text, **values}

    def _opened(self) -> bool:
        if self._handle is not None:
            return True
        nvml = self._nvml
        try:
            handle = nvml.nvmlDeviceGetHandleByIndex(self._index)
            self._uuid = nvml.nvmlDeviceGetUUID(handle)
        except nvml.NVMLError as error:
            if error.value == GPU_IS_LOST:
                raise Lost from error
            self._complaints["handle"] = str(error)
        else:
            self._handle = handle
            self._complaints.pop("handle", None)
        return self._handle is not None

    def _read(
        self, name: str, reading: Reading, keys: tuple[str, ...], took_ms: dict[str, float]
    ) -> None:
        if self._rests.get(name):
            self._rests[name] -= 1
            return
        began = perf_counter()
        self._complaints.pop(name, None)
        try:
            self._values.update(reading(self._nvml, self._handle))
        except self._nvml.NVMLError as error:
            if error.value == GPU_IS_LOST:
                raise Lost from error
            self._values.update(dict.fromkeys(keys))
            if error.value not in UNKNOWABLE:
                self._complaints[name] = str(error)
        cost_ms = (perf_counter() - began) * 1000
        took_ms[name] = round(took_ms.get(name, 0.0) + cost_ms, 3)
        self._slow[name] = self._slow.get(name, 0) + 1 if cost_ms > BUDGET_MS else 0
        if self._slow[name] > 1:
            self._rests[name] = REST


class XidEvents:
    """Critical errors, as the driver reports them by itself; best effort on every board."""

    def __init__(self, nvml: Any) -> None:
        self._nvml = nvml
        self._set: Any = None
        self._asked: dict[int, Any] = {}

    def follow(self, gpus: Sequence[Gpu]) -> None:
        """Register for events of every open GPU that is not registered yet."""
        nvml = self._nvml
        for index, gpu in enumerate(gpus):
            if gpu.handle is None or index in self._asked:
                continue
            self._asked[index] = gpu.handle
            with contextlib.suppress(nvml.NVMLError):
                kinds = nvml.nvmlDeviceGetSupportedEventTypes(gpu.handle) & EVENTS
                if kinds:
                    self._set = self._set or nvml.nvmlEventSetCreate()
                    nvml.nvmlDeviceRegisterEvents(gpu.handle, kinds, self._set)

    def collect(self) -> list[tuple[int | None, int]]:
        """(index, Xid) of every event since the last call; does not wait."""
        found: list[tuple[int | None, int]] = []
        nvml = self._nvml
        with contextlib.suppress(nvml.NVMLError):  # nothing more, or no such function
            while self._set is not None and len(found) < MOST_EVENTS:
                seen = nvml.nvmlEventSetWait_v2(self._set, 0)
                xid = int(seen.eventData) if seen.eventType == XID_EVENT else DOUBLE_BIT_XID
                found.append((self._index(seen.device), xid))
        return found

    def _index(self, device: Any) -> int | None:
        address = _address(device)
        return next((i for i, handle in self._asked.items() if _address(handle) == address), None)

    def close(self) -> None:
        """Free the event set in the driver."""
        if self._set is not None:
            with contextlib.suppress(self._nvml.NVMLError):
                self._nvml.nvmlEventSetFree(self._set)
        self._set = None
        self._asked.clear()


def _address(handle: Any) -> int | None:
    return ctypes.cast(handle, ctypes.c_void_p).value


class Box:
    """The driver and its GPUs."""

    def __init__(self, nvml: Any) -> None:
        self._nvml = nvml
        self._ready = False
        self._worked = False
        self._driver: str | None = None
        self._gpus: list[Gpu] = []
        self._events = XidEvents(nvml)

    def sample(self, dear: bool, counters: bool = False) -> dict[str, Any]:
        """One answer."""
        try:
            if not self._ready:
                self._nvml.nvmlInit()
                self._ready = True
                self._driver = self._nvml.nvmlSystemGetDriverVersion()
            count = self._nvml.nvmlDeviceGetCount()
        except self._nvml.NVMLError as error:
            return self._no_driver(error)
        if count == 0 and not self._worked:
            return {"unsupported": "the NVIDIA driver sees no GPU"}
        self._worked = True
        if count != len(self._gpus):
            self._events.close()
            self._gpus = [Gpu(self._nvml, index) for index in range(count)]
        took_ms: dict[str, float] = {}
        gpus = [gpu.sample(dear, counters, took_ms) for gpu in self._gpus]
        if gpus and all(_mute(gpu) for gpu in gpus):
            # Not a GPU but the connection to the driver failed: start again at the next question.
            self._close()
            return {"error": gpus[0]["error"]}
        self._events.follow(self._gpus)
        xids = self._events.collect()
        return {"gpus": gpus, "driver": self._driver, "took_ms": took_ms, "xids": xids}

    def _no_driver(self, error: Any) -> dict[str, Any]:
        self._close()
        if error.value in ABSENT and not self._worked:
            return {"unsupported": str(error)}
        return {"error": str(error)}

    def _close(self) -> None:
        if self._ready:
            self._events.close()
            with contextlib.suppress(self._nvml.NVMLError):
                self._nvml.nvmlShutdown()
        self._ready = False
        self._gpus = []


def _mute(gpu: Mapping[str, Any]) -> bool:
    """True if all values are errors, and not because the GPU is lost."""
    plain = ("util_ratio", "mem_used_bytes", "power_w", "temp_c")
    return bool(gpu["error"]) and not gpu["lost"] and all(gpu[key] is None for key in plain)


def _binding(folder: str) -> Any:
    """Import pynvml from the folder in which it is installed.

    It imports ``ctypes.util`` for Windows alone, and that brings subprocess, tempfile and
    the compression modules along: 2.1 MB here, saved by an empty stand-in.
    """
    unused = ModuleType("ctypes.util")
    unused.find_library = None  # type: ignore[attr-defined]
    sys.modules.setdefault("ctypes.util", unused)
    sys.path.append(folder)
    import pynvml

    return pynvml


def main(folder: str) -> int:
    """Answer until stdin ends or there is nothing to watch."""
    try:
        box = Box(_binding(folder))
    except ImportError as error:
        _say({"unsupported": f"pynvml cannot be imported: {error}"})
        return 0
    for line in sys.stdin.buffer:
        question = json.loads(line)
        answer = box.sample(bool(question.get("dear")), bool(question.get("counters")))
        _say(answer)
        if "unsupported" in answer:
            break
    return 0


def _say(answer: Mapping[str, Any]) -> None:
    data = json.dumps(answer, separators=(",", ":")).encode() + b"\n"
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
