"""gpuwatch: asks nvidia-smi once a minute; it calls a webhook."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from ...fakes.nvml_library import NvmlDouble, build
from ..bench import Subject
from .monit import ENDED, SILENT
from .peer import Means, Peer, PeerAlarm
from .sinks import Arrival, WebSink

PLACE = Path("~/.cache/middlewatch-tests/gpuwatch-1.0.0").expanduser()
LOOK_S = 4.0
WORK_NS = 1_000_000
"""CPU time between two looks from which on the double's GPU is busy: the laziest healthy trainer
takes 1.4 ms, a loader that waits for a dead worker wakes up for 0.2 ms."""
TUNED = {
    "CHECK_INTERVAL": "10",
    "IDLE_MINUTES": "2",
    "ALERT_COOLDOWN": "5",
    "GPU_TEMP_WARN": "83",
}
"""One fair hour with its table of variables: a look every ten seconds, idle after two minutes
as the others' silence, repeats after five, and 83 C, where an H100 begins to slow down. It has
no place for a script."""
RED = "#e01e5a"

ONE_GPU = """driver_version = 550.54.15
[gpu 0]
name = NVIDIA H100 80GB HBM3
uuid = GPU-00000000-0000-4000-8000-000000000000
bus_id = 00000000:18:00.0
mem_total = 85520809984
mem_used = {used}
util_gpu = {busy}
temp_c = {temp}
power_mw = {power}
power_limit_mw = 700000
ecc.uncorrected.volatile = 0
procs = {procs}
"""


class Gpuwatch(Peer):
    """gpuwatch 1.0.0 behind a stand-in for nvidia-smi.

    The laboratory trains on the CPU. Where a row has no GPUs of its own, the stand-in has one
    that is as busy as the run's processes are, and holds memory for as long as they live.
    """

    peer = "gpuwatch"
    install = f"python3 -m venv {PLACE} && {PLACE}/bin/pip install gpuwatch==1.0.0"
    words: ClassVar = (
        Means(r"Monitor started|GPUs active", (), "good"),
        Means(r"processes exited", ENDED),
        Means(r"\ball idle", (*SILENT, "gpu_lost")),
        Means(r"GPUs idle", SILENT),
        Means(r"GPU\(s\) disappeared", ("gpu_lost", "xid")),
        Means(r"ECC error", ("cuda_ecc",)),
        Means(r"(critical|high) temp", ("gpu_slow",)),
        Means(r"near power limit", ("gpu_slow",)),
        Means(r"memory critical|high memory|memory leak", ("cuda_oom",)),
        Means(r"fan failure", box=True),
        Means(r"avg [\d.]+%", (), "good"),
    )
    _readme: ClassVar = {
        **dict.fromkeys(
            ("silent_end", "python_exception", "segfault", "process_killed"),
            "README, crash detection: GPUs idle and their processes gone",
        ),
        **dict.fromkeys(SILENT, "README, idle alert; hung worker"),
        "cuda_ecc": "README, ECC error detection",
        "gpu_lost": "README, GPU hardware drop",
        "gpu_slow": "README, temperature alerting and power throttle alert",
        "cuda_oom": "README, OOM warning at 90 and 98 % of the memory",
    }
    claims: ClassVar = {"default": _readme, "tuned": _readme}
    rule_s: ClassVar = {
        "default": {"": 75.0, **dict.fromkeys(SILENT, 5 * 60 + 2 * 60.0)},
        "tuned": {"": 25.0, **dict.fromkeys(SILENT, 2 * 60 + 40.0)},
    }

    not_shown = Peer.not_shown | {
        # A real GPU is idle while the CPU is busy with these; the double's is as busy as the CPU.
        *("worker_slow", "endless_loop"),
        # The trainer says it, the memory of the double stays as it was.
        "cuda_out_of_memory",
        # It claims heat and the power limit; this card is cool.
        "gpu_clock_drop",
    }

    def needed(self) -> Iterable[str]:
        """Its command, in an environment of its own, and a compiler for the double."""
        return (gpu_monitor(), "cc")

    def begin(self) -> None:
        """Everything it needs; its first look must find a run that works."""
        self._sink = WebSink()
        self.receive(self._sink)
        self._over = threading.Event()
        self.give_nvidia_smi()
        env = self.env
        if "FAKE_NVML_SCENARIO" not in self.bench.env:
            library = build(Path(tempfile.gettempdir()) / f"faultlab-nvml-{os.getuid()}")
            self._double = NvmlDouble(library, self.folder)
            env.update(self._double.env)
            self._double.scenario(self._scenario(0))
            threading.Thread(target=self._follow, daemon=True).start()
        env["ALERT_WEBHOOK_URL"] = self._sink.url
        if self.style == "tuned":
            env.update(TUNED)
        self._its_env = env

    def _scenario(self, busy: int) -> str:
        alive = [s.pid for s in self.subjects if _stat(s.pid)]
        return ONE_GPU.format(
            used=60_000_000_000 if alive else 0,
            busy=busy,
            temp=30 + busy // 3,
            power=100_000 + 5_000 * busy,
            procs=" ".join(f"{pid}:60000000000" for pid in alive),
        )

    def _follow(self) -> None:
        """The double's GPU is busy while the jobs' sessions do anything.

        A loop that mostly waits counts as busy, like a stream of kernels that stays filled.
        """
        before = self._spent()
        while not self._over.wait(LOOK_S):
            spent = self._spent()
            self._double.scenario(self._scenario(98 if spent - before >= WORK_NS else 0))
            before = spent

    def _spent(self) -> int:
        """Nanoseconds on a CPU, all processes in the sessions of the jobs."""
        return sum(_session_ns(subject.pid) for subject in self.subjects)

    def watch(self, subject: Subject) -> None:
        """Start it with its variables and nothing else: it knows no jobs."""
        if len(self.subjects) > 1:
            return
        if hasattr(self, "_double"):
            self._double.scenario(self._scenario(98))
        self.launch(gpu_monitor(), env=self._its_env)

    def stop(self) -> None:
        """Also the thread."""
        if hasattr(self, "_over"):
            self._over.set()
        super().stop()

    def read(self, arrival: Arrival) -> Iterable[PeerAlarm]:
        """One call is one message; red is its colour for what must be looked at."""
        text = str(arrival.fields.get("text", ""))
        red = arrival.fields.get("color") == RED
        title, _, body = text.partition(" | ")
        yield self.told(arrival.at, title, body, "page" if red else "warning")


def gpu_monitor() -> str:
    """Where its command is, or would be."""
    return shutil.which("gpu-monitor") or str(PLACE / "bin" / "gpu-monitor")


def _stat(pid: int) -> list[str] | None:
    """Fields of /proc/PID/stat from the state on; None for the dead."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = text[text.rindex(")") + 2 :].split()
    return None if fields[0] in "ZX" else fields


def _session_ns(session: int) -> int:
    total = 0
    for entry in Path("/proc").iterdir():
        fields = _stat(int(entry.name)) if entry.name.isdigit() else None
        if fields is not None and int(fields[3]) == session:
            with contextlib.suppress(OSError):
                for task in (entry / "task").iterdir():
                    total += int((task / "schedstat").read_text().split()[0])
    return total
