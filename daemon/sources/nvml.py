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
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from middlewatch.sentinels.kit import GpuSample, Observation

from ..child import JsonChild
from ..clock import Clock
from ..errors import Unsupported
from .base import Source

DEADLINE_S = 5.0
"""An answer takes 1 to 50 ms; 5 s is long after any lock a healthy driver holds."""
START_DEADLINE_S = 30.0
"""Without persistence mode the first call loads the firmware of every board: seconds each."""
DEAR_EVERY_S = 15.0
"""Process lists and error counters: as often as monitoring stacks usually scrape."""
ECC_SHOWN_S = 60.0
"""How long a grown ECC counter is told, so that a rule that looks every minute sees it."""

SLOWING = frozenset(
    {"hw_slowdown", "hw_thermal", "hw_power_brake", "sw_thermal", "board_limit", "reliability"}
)
TOLD = SLOWING | {"sw_power_cap"}
"""Clock event reasons passed on. A software power cap is the normal state of a busy GPU; it
explains a clock, it is no trouble."""


class TelemetryLost(RuntimeError):
    """The driver is there and does not tell: nothing is known about the GPUs."""


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
        self._child: JsonChild | None = None
        self._cards = Cards()
        self._worked = False
        self._failure = ""
        self._asked: float | None = None
        self._killed: float | None = None
        self._dear: float | None = None

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
        if self._child.ask({"ask": "sample", "dear": dear}, mono):
            self._asked = mono if self._asked is None else self._asked
            self._dear = mono if dear else self._dear
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

    def _fresh(self) -> JsonChild:
        spec = importlib.util.find_spec("pynvml")
        if spec is None or spec.origin is None:
            raise Unsupported("nvidia-ml-py is not installed")
        file = Path(spec.origin)
        folder = file.parent.parent if spec.submodule_search_locations else file.parent
        program = Path(__file__).with_name("nvml_child.py")
        argv = (sys.executable, "-I", "-S", str(program), str(folder))
        start = max(START_DEADLINE_S, self._deadline_s)
        return JsonChild(argv, self._deadline_s, self._env, start_deadline_s=start)

    def _take(self, now: float) -> tuple[GpuSample, ...]:
        """Samples of the newest answer; notes a failure, raises Unsupported."""
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
            return self._cards.samples(now, answer["gpus"])
        if "unsupported" in answer:
            child.restart()  # it has ended by itself; do not wait for the news
            if not self._worked:
                raise Unsupported(answer["unsupported"])
        self._failure = str(answer.get("error") or answer.get("unsupported"))
        return ()


def _ended(child: JsonChild) -> str:
    text = "the NVML process ended"
    if child.exit_status is not None:
        text += f" with status {child.exit_status}"
    words = child.last_words.splitlines()
    return f"{text}: {words[-1]}" if words else text


class Cards:
    """What is known of every card that was ever seen, by uuid."""

    def __init__(self) -> None:
        self._names: dict[str, tuple[int, str]] = {}
        self._ecc: dict[str, tuple[int, int, float]] = {}

    def samples(self, now: float, gpus: Iterable[Mapping[str, Any]]) -> tuple[GpuSample, ...]:
        """One sample for each card, those included that the driver no longer lists."""
        listed = list(gpus)
        present = {gpu["uuid"] for gpu in listed}
        found: dict[int, GpuSample] = {}
        for gpu in listed:
            uuid = gpu["uuid"] or self._missing_at(gpu["index"], present)
            index, name = self._names.get(uuid, (gpu["index"], ""))
            name = gpu["name"] or name
            if uuid:
                self._forget_others(index, uuid)
                self._names[uuid] = (index, name)
            found[index] = self._sample(now, index, uuid, name, gpu)
        for uuid, (index, name) in self._names.items():
            if index not in found:
                error = "gone from the driver's list"
                found[index] = GpuSample(now, index, uuid, name, lost=True, error=error)
        return tuple(found[index] for index in sorted(found))

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
            error="; ".join(self._complaints(now, uuid, gpu)) or None,
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
        if count > before:
            grown_by, grown_at = count - before, now
        self._ecc[uuid] = (count, grown_by, grown_at)
        if grown_by and now - grown_at < ECC_SHOWN_S:
            yield f"{grown_by} new uncorrected ECC errors, {count} since the driver was loaded"
