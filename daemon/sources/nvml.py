"""GPUs, through NVML, the library of the NVIDIA driver; called in a child that can be killed.

A GPU counts as lost only if the driver says so: NVML_ERROR_GPU_IS_LOST, or it no longer lists the
GPU. A driver that answers with another error, or not at all, says nothing about the GPUs: then
only the telemetry is lost, and a training that already has its CUDA context may go on (in a
container whose device rules were reset by the host, NVML returns "Unknown Error").

A GPU keeps the index under which it was first seen, although the driver renumbers the others after
one is gone: the sentinels identify a GPU by its index.
"""

from __future__ import annotations

import importlib.util
import sys
from collections import deque
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from middlewatch.sentinels.kit import GpuSample, LogEvent, Observation
from middlewatch.sentinels.kit.numbers import median

from ..parsers.xids import HARMLESS, XIDS
from ..system.clock import Clock
from ..system.errors import Unsupported
from ..system.source import Source, TelemetryLost
from ..system.walls import NONE
from ..system.worker import JsonWorker

DEADLINE_S = 5.0
"""Seconds for an answer. It takes 1 to 50 ms; a healthy driver holds no lock for 5 s."""
START_DEADLINE_S = 30.0
"""Seconds for the first answer. Without persistence mode the first call loads the firmware of every
GPU, which takes seconds for each."""
DEAR_EVERY_S = 15.0
"""Seconds between reads of process lists and limits, which are slow: a usual scrape interval."""
COUNTERS_EVERY_S = 4.0
"""Seconds between reads of error counters: a double-bit error is to be reported within 10 s."""
FULL_LOAD = 0.8
"""Utilisation (0 to 1) from which clock and power show what a GPU can do."""
USUAL_SAMPLES = 30
"""Samples at full load of which a median is taken; half of them are enough for the first one."""
ECC_SHOWN_S = 60.0
"""Seconds for which a grown ECC counter is reported in the error text of the samples."""

SLOWING = frozenset(
    {"hw_slowdown", "hw_thermal", "hw_power_brake", "sw_thermal", "board_limit", "reliability"}
)
TOLD = SLOWING | {"sw_power_cap"}
"""Clock event reasons that samples have. A software power cap is normal for a busy GPU: it is no
trouble, but explains a low clock."""


class Nvml(Source):
    """One :class:`GpuSample` per GPU of the box and second, and a LogEvent per Xid.

    ``env`` replaces the environment of the child; ``deadline_s`` is the time for an answer.
    """

    name = "nvml"
    every_s = 1.0
    answers_later = True

    def __init__(
        self, clock: Clock, env: Mapping[str, str] | None = None, deadline_s: float = DEADLINE_S
    ) -> None:
        self._clock = clock
        self._env = env
        self._deadline_s = deadline_s
        self._child: JsonWorker | None = None
        self._cards = KnownGpus()
        self._worked = False
        self._failure = ""
        self._asked: float | None = None
        self._killed: float | None = None
        self._dear: float | None = None
        self._counted: float | None = None

    def fds(self) -> Iterable[int]:
        """The pipe through which the child answers."""
        fd = self._child.fileno() if self._child else None
        return () if fd is None else (fd,)

    def ready(self, fd: int, now: float) -> Iterable[Observation]:
        """Take the answer of the child; it may also have ended. Raises as :meth:`read`."""
        samples = self._take(now)
        if self._failure:
            raise TelemetryLost(self._failure)
        return samples

    def read(self, now: float) -> Iterable[Observation]:
        """Ask the child; its answer comes through ``ready``, or is taken at the next read.

        Raises Unsupported where there is no NVIDIA driver, and TelemetryLost at every read from
        the driver's first error until its next good answer.
        """
        mono = self._clock.monotonic()
        if self._child is None:
            self._child = self._fresh()
        samples = self._take(now)
        if self._child.overdue(mono) > 2 * self._deadline_s:
            self._killed = mono
            self._child.restart()
        dear = self._dear is None or mono - self._dear >= DEAR_EVERY_S
        counters = dear or self._counted is None or mono - self._counted >= COUNTERS_EVERY_S
        if self._child.ask({"ask": "sample", "dear": dear, "counters": counters}, mono):
            self._asked = mono if self._asked is None else self._asked
            self._dear = mono if dear else self._dear
            self._counted = mono if counters else self._counted
        self._failure = self._child.start_error or self._failure
        if self._failure:
            raise TelemetryLost(self._failure)
        return samples

    def stalled(self, now: float) -> str | None:
        """A sentence on how long the driver has not answered, if that is over the deadline."""
        if self._child is None or self._asked is None:
            return None
        mono = self._clock.monotonic()
        if not self._child.overdue(mono) and self._killed is None:
            return None
        text = f"the driver has not answered for {mono - self._asked:.0f} s"
        stuck = self._child.stuck_pid
        if (
            stuck is not None
            and self._killed is not None
            and mono - self._killed > self._deadline_s
        ):
            text += f"; process {stuck} is stuck in it and cannot be killed"
        return text

    def close(self) -> None:
        """End the child."""
        if self._child is not None:
            self._child.close()

    def _fresh(self) -> JsonWorker:
        spec = importlib.util.find_spec("pynvml")
        if spec is None or spec.origin is None:
            raise Unsupported("nvidia-ml-py is not installed")
        file = Path(spec.origin)
        folder = file.parent.parent if spec.submodule_search_locations else file.parent
        program = Path(__file__).with_name("programs") / "nvml.py"
        argv = (sys.executable, "-I", "-S", str(program), str(folder))
        start = max(START_DEADLINE_S, self._deadline_s)
        return JsonWorker(argv, self._deadline_s, self._env, start_deadline_s=start, walls=NONE)

    def _take(self, now: float) -> tuple[Observation, ...]:
        """Samples of the newest answer, and the Xids of all answers.

        Sets ``_failure`` after an error; raises Unsupported if the driver never worked.
        """
        child = self._child
        if child is None:
            return ()
        answers = child.answers()
        if not answers:
            if not child.alive and self._asked is not None and self._killed is None:
                self._asked = None
                self._failure = _ended(child)
            return ()
        answer = answers[-1]
        self._asked = self._killed = None
        self._failure = ""
        if "gpus" in answer:
            self._worked = True
            samples = self._cards.samples(now, answer["gpus"])
            xids = (xid for one in answers for xid in one.get("xids", ()))
            return (*samples, *(self._cards.reported(now, *xid) for xid in xids))
        if "unsupported" in answer:
            child.restart()  # after this answer it ends by itself: do not wait for its end
            if not self._worked:
                raise Unsupported(answer["unsupported"])
        self._failure = str(answer.get("error") or answer.get("unsupported"))
        return ()


def _shares(told: Mapping[str, float] | None) -> tuple[tuple[int, float], ...] | None:
    return None if told is None else tuple((int(pid), part) for pid, part in told.items())


def _ended(child: JsonWorker) -> str:
    text = "the NVML process ended"
    if child.exit_status is not None:
        text += f" with status {child.exit_status}"
    words = child.last_words.splitlines()
    return f"{text}: {words[-1]}" if words else text


class Usual:
    """The usual value of a GPU at full load: the highest median of 30 samples seen so far."""

    __slots__ = ("_newest", "_since", "best")

    def __init__(self) -> None:
        self.best: float | None = None
        self._newest: deque[float] = deque(maxlen=USUAL_SAMPLES)
        self._since = 0

    def add(self, value: float | None) -> None:
        """One sample at full load."""
        if value is None:
            return
        self._newest.append(value)
        self._since += 1
        if self._since >= USUAL_SAMPLES // 2:
            self._since = 0
            self.best = max(self.best or 0.0, median(self._newest))


class KnownGpus:
    """What is known of every GPU that was ever seen, by uuid."""

    def __init__(self) -> None:
        self._names: dict[str, tuple[int, str]] = {}
        self._listed: dict[int, int] = {}
        """The driver's present index -> the index under which we first saw that GPU."""
        self._ecc: dict[str, tuple[int, int, float]] = {}
        self._new: dict[str, int] = {}
        self._usual: dict[str, tuple[Usual, Usual]] = {}

    def samples(self, now: float, gpus: Iterable[Mapping[str, Any]]) -> tuple[GpuSample, ...]:
        """One sample per GPU, including those that the driver no longer lists (``lost``)."""
        listed = list(gpus)
        present = {gpu["uuid"] for gpu in listed}
        found: dict[int, GpuSample] = {}
        self._listed.clear()
        for gpu in listed:
            uuid = gpu["uuid"] or self._missing_at(gpu["index"], present)
            index, name = self._names.get(uuid, (gpu["index"], ""))
            name = gpu["name"] or name
            if uuid:
                self._forget_others(index, uuid)
                self._names[uuid] = (index, name)
            self._listed[gpu["index"]] = index
            found[index] = self._sample(now, index, uuid, name, gpu)
        for uuid, (index, name) in self._names.items():
            if index not in found:
                error = "gone from the driver's list"
                found[index] = GpuSample(now, index, uuid, name, lost=True, error=error)
        return tuple(found[index] for index in sorted(found))

    def reported(self, now: float, index: int | None, xid: int) -> LogEvent:
        """An Xid reported by the driver, as the same event that the kernel log would give."""
        known = XIDS.get(xid)
        meaning = f": {known.meaning}" if known else ""
        card = "a GPU" if index is None else f"GPU {self._listed.get(index, index)}"
        harmless = xid in HARMLESS
        return LogEvent(
            at=now,
            trouble="xid",
            role="root",
            severity="warning" if harmless else "critical",
            fatal=not harmless and (known is None or known.fatal),
            text=f"Xid {xid} on {card}{meaning}",
            file="nvml",
            signature="nvml-xid",
            details={"xid": xid}
            | ({} if index is None else {"gpu": self._listed.get(index, index)}),
        )

    def _missing_at(self, index: int, present: set[str | None]) -> str:
        """Uuid of the known GPU with this index whose uuid the driver does not report now."""
        missing = (u for u, (i, _) in self._names.items() if i == index and u not in present)
        return next(missing, "")

    def _forget_others(self, index: int, uuid: str) -> None:
        """Forget other GPUs with this index: one that was replaced is not lost."""
        for other in [u for u, (i, _) in self._names.items() if i == index and u != uuid]:
            del self._names[other]

    def _sample(
        self, now: float, index: int, uuid: str, name: str, gpu: Mapping[str, Any]
    ) -> GpuSample:
        pids = gpu["pids"]
        complaints = "; ".join(self._complaints(now, uuid, gpu))
        clock, power = self._usual.setdefault(uuid, (Usual(), Usual()))
        if (gpu["util_ratio"] or 0.0) >= FULL_LOAD:
            clock.add(gpu["sm_clock_mhz"])
            power.add(gpu["power_w"])
        return GpuSample(
            at=now,
            index=index,
            uuid=uuid,
            name=name,
            util_ratio=gpu["util_ratio"],
            mem_used_bytes=gpu["mem_used_bytes"],
            mem_total_bytes=gpu["mem_total_bytes"],
            power_w=gpu["power_w"],
            power_limit_w=gpu["power_limit_w"],
            temp_c=gpu["temp_c"],
            sm_clock_mhz=gpu["sm_clock_mhz"],
            throttle=tuple(r for r in gpu["clock_reasons"] or () if r in TOLD),
            pids=None if pids is None else tuple(pids),
            lost=gpu["lost"],
            error=complaints or None,
            sm_clock_usual_mhz=clock.best,
            power_usual_w=power.best,
            ecc_new=self._new.get(uuid),
            remap_failed=gpu["remap_failed"],
            minor=gpu.get("minor"),
            bus_id=gpu.get("bus_id") or "",
            capability=".".join(map(str, gpu.get("cc") or ())),
            mem_busy_ratio=gpu["mem_busy_ratio"],
            shares=_shares(gpu["shares"]),
        )

    def _complaints(self, now: float, uuid: str, gpu: Mapping[str, Any]) -> Iterable[str]:
        if gpu["error"]:
            yield gpu["error"]
        if gpu["remap_failed"]:
            yield "row remapping failed"
        elif gpu["remap_pending"]:
            yield "row remapping pending until the GPU is reset"
        count = gpu["ecc_uncorrected"]
        if count is None:
            return
        before, grown_by, grown_at = self._ecc.get(uuid, (count, 0, now))
        self._new.setdefault(uuid, 0)
        if count > before:
            grown_by, grown_at = count - before, now
            self._new[uuid] += grown_by
        self._ecc[uuid] = (count, grown_by, grown_at)
        if grown_by and now - grown_at < ECC_SHOWN_S:
            yield f"{grown_by} new uncorrected ECC errors, {count} since the driver was loaded"
