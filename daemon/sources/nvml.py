"""GPUs, as the NVIDIA driver tells; asked through a child that can be killed.

A GPU counts as lost only by the driver's word: NVML_ERROR_GPU_IS_LOST, or a card that it no
longer lists. A driver that answers with an error, or not at all, says nothing about the GPUs:
that is telemetry lost, and a training that already holds its context may well go on
(a container whose device rules were reset by the host gets "Unknown Error" from then on).

A card keeps the index that it was first seen under, although the driver counts anew after one
has vanished: rules follow a card by its index.
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
from ..system.worker import JsonWorker

DEADLINE_S = 5.0
"""An answer takes 1 to 50 ms; 5 s is long after any lock a healthy driver holds."""
START_DEADLINE_S = 30.0
"""Without persistence mode the first call loads the firmware of every board: seconds each."""
DEAR_EVERY_S = 15.0
"""Process lists and limits: as often as monitoring stacks usually scrape."""
COUNTERS_EVERY_S = 4.0
"""Error counters: a double-bit error has to be told within ten seconds."""
FULL_LOAD = 0.8
"""Utilisation at which a clock or a draw says what a card can do."""
USUAL_SAMPLES = 30
"""Samples at full load whose median is one look at it; half of them are enough for the first."""
ECC_SHOWN_S = 60.0
"""How long a grown ECC counter is told, so that a rule that looks every minute sees it."""

SLOWING = frozenset(
    {"hw_slowdown", "hw_thermal", "hw_power_brake", "sw_thermal", "board_limit", "reliability"}
)
TOLD = SLOWING | {"sw_power_cap"}
"""Clock event reasons passed on. A software power cap is the normal state of a busy GPU; it
explains a clock, it is no trouble."""


class Nvml(Source):
    """All GPUs of the box, once a second. ``env`` replaces the environment of the child."""

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
        """The child's answers."""
        fd = self._child.fileno() if self._child else None
        return () if fd is None else (fd,)

    def ready(self, fd: int, now: float) -> Iterable[Observation]:
        """An answer has come, or the child is gone."""
        samples = self._take(now)
        if self._failure:
            raise TelemetryLost(self._failure)
        return samples

    def read(self, now: float) -> Iterable[Observation]:
        """Ask again; the answer comes through ``ready`` (or is taken here, a turn later).

        Raises Unsupported where there is no NVIDIA driver, and TelemetryLost at every turn
        from the driver's first error until its next good answer.
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
        """How long the driver has not answered, once that is longer than its deadline."""
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
        return JsonWorker(argv, self._deadline_s, self._env, start_deadline_s=start)

    def _take(self, now: float) -> tuple[Observation, ...]:
        """Samples of the newest answer, and every Xid; notes a failure, raises Unsupported."""
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
            child.restart()  # it has ended by itself; do not wait for the news
            if not self._worked:
                raise Unsupported(answer["unsupported"])
        self._failure = str(answer.get("error") or answer.get("unsupported"))
        return ()


def _ended(child: JsonWorker) -> str:
    text = "the NVML process ended"
    if child.exit_status is not None:
        text += f" with status {child.exit_status}"
    words = child.last_words.splitlines()
    return f"{text}: {words[-1]}" if words else text


class Usual:
    """What a card does at full load: the best median of a half minute that was seen."""

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
    """What is known of every card that was ever seen, by uuid."""

    def __init__(self) -> None:
        self._names: dict[str, tuple[int, str]] = {}
        self._listed: dict[int, int] = {}
        """The driver's present index -> ours."""
        self._ecc: dict[str, tuple[int, int, float]] = {}
        self._new: dict[str, int] = {}
        self._usual: dict[str, tuple[Usual, Usual]] = {}

    def samples(self, now: float, gpus: Iterable[Mapping[str, Any]]) -> tuple[GpuSample, ...]:
        """One sample for each card, those included that the driver no longer lists."""
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
        """An Xid that the driver has reported, in the words of the kernel log's reader."""
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
        """The card that had this index and does not show its uuid any more."""
        missing = (u for u, (i, _) in self._names.items() if i == index and u not in present)
        return next(missing, "")

    def _forget_others(self, index: int, uuid: str) -> None:
        """A card that was swapped for another is not lost."""
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
