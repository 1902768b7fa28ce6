"""The evidence of an incident as a text: what the box and the run looked like in that minute.

The daemon writes the facts into a file when the incident opens (:mod:`..service.evidence`), and gives them
to ``middlewatch evidence``. This module makes the text of them; it runs in the notifier child and in
commands, and masks again what it is given.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from middlewatch.sentinels.kit.numbers import number, size, span

from ..config.secrets import mask
from ..text.terminal import one_line

LONGEST_LINE = 400
"""Characters of a line of a log: enough for a NCCL error; a progress bar is longer."""
DISTINCT = 60
"""Distinct lines of a log that are shown, the newest. Our choice: two screens."""
FRAMES = 24
"""Frames of a stack that are shown, the innermost. Our choice."""
MOST_BYTES = 16 << 20
"""Of a file with facts; what the daemon writes has some 100 kB."""
_CHANGES = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?", re.IGNORECASE)
Facts = Mapping[str, Any]


def read(path: str) -> dict[str, Any] | None:
    """The facts in a file that the daemon wrote; ``None`` where there are none."""
    try:
        with open(path, encoding="utf-8") as file:
            facts = json.loads(file.read(MOST_BYTES))
    except (OSError, ValueError):
        return None
    usable = isinstance(facts, dict) and isinstance(facts.get("incident"), dict)
    return facts if usable else None


def text(facts: Facts) -> str:
    """All facts, as a text for a person."""
    incident = facts["incident"]
    lines = [f"Evidence of incident {incident['id']}, as seen at {facts.get('written_at')}", ""]
    for title, some in (
        ("What happened", _incident(incident)),
        ("Run", _run(facts.get("run") or {})),
        ("Log: the last distinct lines", _log(facts.get("log") or {})),
        ("Stacks", _stacks(facts.get("stacks") or ())),
        ("GPUs", _gpus(facts.get("gpus") or ())),
        ("Memory", _memory(facts.get("memory") or ())),
        ("Disks", _disks(facts.get("disks") or ())),
        ("Processes", _processes(facts.get("processes") or ())),
        ("Checkpoints", _pairs(facts.get("checkpoints") or {})),
        ("What is watched", _sources(facts.get("watch") or ())),
        ("Configuration, other than the defaults", _pairs(facts.get("config") or {})),
        ("Versions", _pairs(facts.get("versions") or {})),
        ("Left out", facts.get("left_out") or ["nothing"]),
    ):
        lines += [f"== {title}", *(_line(one) for one in some), ""]
    return "\n".join(lines)


def _line(told: object) -> str:
    """One line, masked; its indentation stays."""
    words = str(told)
    indent = " " * (len(words) - len(words.lstrip(" ")))
    line = indent + mask(one_line(words.strip(" ")))
    return line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 1] + "…"


def _incident(one: Facts) -> Iterator[str]:
    yield f"{one['severity']} {one['class']}: {one['summary']}"
    yield f"state {one['state']}, since {one.get('since')}, opened {one['opened_at']}, seen {one['count']} times"
    for proof in one.get("evidence", ()):
        yield f"proof ({proof['kind']}): {proof['text']}"
    for symptom in one.get("symptoms", ()):
        yield f"symptom: {symptom}"
    for name, value in (one.get("details") or {}).items():
        yield f"{name}: {value}"
    yield f"first step: {one['remedy']['first_step']}"


def _run(run: Facts) -> Iterator[str]:
    for name, value in run.items():
        if value not in (None, "", [], {}):
            yield f"{name}: {_plain(value)}"


def _plain(value: object) -> str:
    if isinstance(value, Mapping):
        known = ((key, each) for key, each in value.items() if each is not None)
        return ", ".join(f"{key} {_plain(each)}" for key, each in known)
    if isinstance(value, float):
        return number(value)
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _pairs(some: Facts) -> Iterator[str]:
    if not some:
        yield "none"
    for name, value in some.items():
        yield f"{name}: {_plain(value)}"


def distinct(lines: Sequence[str], most: int = DISTINCT) -> list[tuple[int, str]]:
    """(how often, the newest such line) of lines that differ in more than their numbers, oldest first."""
    count: dict[str, int] = {}
    newest: dict[str, str] = {}
    for line in lines:
        kind = _CHANGES.sub("#", line.strip())
        if not kind:
            continue
        count[kind] = count.get(kind, 0) + 1
        newest.pop(kind, None)  # the newest comes last
        newest[kind] = line
    return [(count[kind], line) for kind, line in newest.items()][-most:]


def _log(log: Facts) -> Iterator[str]:
    lines = log.get("lines") or ()
    if log.get("path"):
        yield f"{log['path']}: {len(lines)} lines looked at"
    for often, line in distinct(lines):
        yield f"{f'{often}x ' if often > 1 else ''}{line}"
    if not lines:
        yield "no line is known"


def _stacks(stacks: Sequence[Facts]) -> Iterator[str]:
    """The newest stack of each process; processes with the same one are named together."""
    newest = {one["pid"]: one for one in stacks}
    alike: dict[tuple[str, ...], list[Facts]] = {}
    for one in newest.values():
        alike.setdefault(tuple(one["frames"]), []).append(one)
    if not alike:
        yield "none was taken: that is done during a silence that may be a hang"
    for frames, some in sorted(alike.items(), key=lambda item: -len(item[1])):
        who = [f"pid {o['pid']}" if o["rank"] is None else f"rank {o['rank']}" for o in some]
        yield f"{len(some)} process{'es' if len(some) > 1 else ''} ({', '.join(who)}), innermost first:"
        yield from (f"  {frame}" for frame in frames[:FRAMES])
        if len(frames) > FRAMES:
            yield f"  and {len(frames) - FRAMES} outer frames"


def _gpus(gpus: Iterable[Facts]) -> Iterator[str]:
    some = False
    for gpu in gpus:
        some = True
        yield f"GPU {gpu['index']} {gpu['name']}{', LOST' if gpu['lost'] else ''}"
        for sample in gpu["samples"]:
            yield (
                f"  {_ago(sample)}: {_ratio(sample['util'])} busy, memory {_of(sample['mem_used'], sample['mem_total'])}, "
                f"{_unit(sample['power_w'], 'W')}, {_unit(sample['temp_c'], '°C')}, "
                f"{_unit(sample['clock_mhz'], 'MHz')}{_throttle(sample['throttle'])}"
            )
    if not some:
        yield "none visible"


def _throttle(reasons: Sequence[str]) -> str:
    return f", throttled: {', '.join(reasons)}" if reasons else ""


def _ago(sample: Facts) -> str:
    return f"{span(sample['before_s'])} before"


def _ratio(value: float | None) -> str:
    return "?" if value is None else f"{value:.0%}"


def _unit(value: float | None, unit: str) -> str:
    return f"? {unit}" if value is None else f"{value:.0f} {unit}"


def _of(part: float | None, whole: float | None) -> str:
    if part is None:
        return "?"
    return size(part) if whole is None else f"{size(part)} of {size(whole)}"


def _memory(samples: Iterable[Facts]) -> Iterator[str]:
    some = False
    for one in samples:
        some = True
        kills = "?" if one["oom_kills"] is None else one["oom_kills"]
        yield (
            f"{_ago(one)}: working set {_of(one['working_set'], one['limit'])}, available on the host "
            f"{_of(one['host_available'], None)}, OOM kills {kills}"
        )
    if not some:
        yield "not known"


def _disks(disks: Iterable[Facts]) -> Iterator[str]:
    some = False
    for disk in disks:
        some = True
        yield f"{disk['mount']} ({disk['fstype']}; {', '.join(disk['holds'])})"
        for one in disk["samples"]:
            inodes = "?" if one["free_inodes"] is None else f"{one['free_inodes']}"
            ro = ", READ-ONLY" if one["read_only"] else ""
            yield f"  {_ago(one)}: {_of(one['free'], one['total'])} free, {inodes} inodes free{ro}"
    if not some:
        yield "none known"


def _processes(processes: Iterable[Facts]) -> Iterator[str]:
    some = False
    for one in processes:
        some = True
        rank = "" if one["rank"] is None else f" rank {one['rank']}"
        cpu = "" if one["cpu_ratio"] is None else f", {one['cpu_ratio']:.2f} cores"
        yield f"pid {one['pid']}{rank} {one['name']}: state {one['state']}{cpu}, {size(one['rss_bytes'] or 0)}"
    if not some:
        yield "none seen"


def _sources(sources: Iterable[Facts]) -> Iterator[str]:
    for one in sources:
        yield f"{one['source']}: {one['state']}{': ' + one['detail'] if one['detail'] else ''}"
