"""``training_status.md``: the state of a run as a text that needs no tool to read."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from middlewatch.sentinels.kit.numbers import number, size

from ..config.secrets import mask, mask_lines, mask_words
from ..system.clock import epoch
from ..text import markdown
from ..text.figures import pace
from ..text.moments import ahead, past
from ..text.terminal import one_line
from . import silence_words

Row = Mapping[str, Any]
MOUNTS_SHOWN = 8


def page(status: Row, box: Row, watch: Sequence[Row], updated: str) -> str:
    """The whole page as text. ``status`` and ``box`` are those of ``status --json``."""
    now = _epoch(updated) or 0.0
    parts = [f"# {_line(status['run'])}: {status['state']}", f"Updated {_line(updated)}", ""]
    parts += [_line(status["state_reason"], starts=True), ""]
    for title, lines in (
        ("Now", _now(status, now)),
        ("Risks", _risks(status, box, now)),
        ("Checkpoints", _checkpoints(status, now)),
        ("Box", [*_box(box), *_money(status)]),
        ("Watch", _watch(status, watch)),
        ("Handover", _handover(status)),
    ):
        parts += [f"## {title}", "", *lines, ""]
    return mask_lines("\n".join(parts).rstrip() + "\n")


def _line(text: object, *, starts: bool = False) -> str:
    """What others wrote, as one line of text: it is no heading, link or HTML, and paints no terminal.

    Masked before it is escaped: a backslash inside a key would hide its shape. ``starts``: it stands
    at the beginning of a paragraph or list item.
    """
    return markdown.escaped(mask(one_line(text)), starts=starts)


def _code(text: str) -> str:
    return markdown.code(mask(one_line(text)))


def _value(value: object) -> str:
    """A number as text; one that is not finite comes as text already: ``"nan"``."""
    return number(value) if isinstance(value, (int, float)) else _line(value)


def _epoch(told: str | None) -> float | None:
    """Epoch seconds of a point in time of ``status --json``; ``None`` for what is none."""
    try:
        return epoch(told) if told else None
    except (ValueError, OverflowError, OSError):
        return None


def _when(told: str | None, now: float) -> str:
    """A past point in time of ``status --json``, for a person."""
    at = _epoch(told)
    return _line(told or "a time that is not known") if at is None else past(at, now)


def _now(status: Row, at: float) -> Iterator[str]:
    now = status["now"]
    if now["step"] is None:
        yield "- step: none seen yet"
    else:
        total = "" if not now["total"] else f" of {_value(now['total'])}"
        yield f"- step: {_value(now['step'])}{total} at {_when(now['last_step_at'], at)}"
    if now["epoch"] is not None:
        yield f"- epoch: {_value(now['epoch'])}"
    for name, value in now["values"].items():
        yield f"- {_line(name, starts=True)}: {_value(value)}"
    if now["step_interval_s"]:
        yield f"- throughput: {pace(now['step_interval_s'])}"
    end = _epoch(now["eta"])
    if end is not None:
        yield f"- ETA: {ahead(end, at)}"
    if status["exit"]:
        end = status["exit"]
        how = f"signal {end['signal']}" if end["signal"] is not None else f"status {end['code']}"
        when = f"{_when(status['ended_at'], at)}, " if status["ended_at"] else ""
        yield f"- ended: {when}{how if how != 'status None' else 'status unknown'}"


def _risks(status: Row, box: Row, now: float) -> Iterator[str]:
    any_risk = False
    for incident in status["incidents"]:
        any_risk = True
        yield (
            f"- **{incident['severity']}** {incident['class']} since {_when(incident.get('since') or incident['opened_at'], now)}: "
            f"{_line(incident['summary'])} (incident {incident['id']})"
        )
        for proof in incident["evidence"][:3]:
            yield f"  - proof: {_code(proof['text'])}"
        if incident.get("cost"):
            yield f"  - {_line(incident['cost']['text'], starts=True)}"
        step = mask(one_line(incident["remedy"]["first_step"]))
        yield f"  - first step: {markdown.with_code(step)}"
    for disk in box["disks"]:
        if disk["saves_left"] is not None and disk["saves_left"] < 5:
            any_risk = True
            yield f"- {disk['saves_left']} saves left on {_line(disk['mount'])}"
    if not any_risk:
        yield "- none open"


def _checkpoints(status: Row, now: float) -> Iterator[str]:
    checkpoints = status["checkpoints"]
    latest = checkpoints["latest"]
    claim = checkpoints.get("claimed")
    if claim is not None:
        step = "" if claim["step"] is None else f" of step {_value(claim['step'])}"
        path = "" if claim["path"] is None else f": {_line(claim['path'])}"
        yield f"- the log says a checkpoint{step} was saved at {_when(claim['at'], now)}{path}; it is not found yet"
    if latest is None:
        where = _line(", ".join(status["checkpoint_dirs"])) or "no folder is known"
        yield f"- none seen ({where})"
        yield from _folders(status)
        return
    step = "" if latest["step"] is None else f", step {_value(latest['step'])}"
    yield f"- latest: {_line(latest['path'])} ({size(latest['bytes'])}{step}, saved {_when(latest['saved_at'], now)})"
    yield f"- best: {_line(checkpoints['best'] or 'unknown')}"
    judged = checkpoints["last_verified"]
    verdict = "none yet"
    if judged is not None:
        verdict = f"{judged['path']} ({judged['state']}, {judged['level']} checked)"
    yield f"- last verified: {_line(verdict)}"
    pending = checkpoints.get("pending", ())
    passed = checkpoints["resume_from"]
    if passed is None and pending:
        passed = f"none that passed yet; {pending[-1]['path']} is being checked"
    yield f"- would resume from: {_line(passed or 'none that passed')}"
    for one in pending[-3:]:
        yield f"- being checked: {_line(one['path'])} ({_line(one['detail'])})"
    place = checkpoints.get("durability")
    if place is not None:
        better = f"; {place['better']}" if place["survives_stop"] is False else ""
        yield f"- durability: {_line(place['text'] + better)}"
    cadence = checkpoints.get("cadence")
    if cadence is not None and cadence["text"]:
        yield f"- cadence: {_line(cadence['text'])}"
    yield from _folders(status)


def _folders(status: Row) -> Iterator[str]:
    """The folders that were found while the run was watched, and how."""
    for one in status.get("checkpoint_folders", ()):
        names = "" if one["whole"] else f" (only {', '.join(one['names'][:8])})"
        yield f"- folder: {_line(one['path'] + names)}: known because {_line(one['why'])}"


def _box(box: Row) -> Iterator[str]:
    for gpu in box["gpus"]:
        yield f"- GPU {gpu['index']} {_line(gpu['name'])}: {_gpu(gpu)}"
    if not box["gpus"]:
        yield "- GPUs: none visible"
    for disk in box["disks"]:
        inodes = (
            "inodes unknown"
            if disk["free_inodes"] is None
            else f"{disk['free_inodes']} of {disk['total_inodes']} inodes free"
        )
        ro = ", READ-ONLY" if disk["read_only"] else ""
        yield (
            f"- disk {_line(disk['mount'])} ({', '.join(disk['holds'])}): {size(disk['free_bytes'])} of "
            f"{size(disk['total_bytes'])} free, {inodes}{ro}"
        )
    memory = box["memory"]
    if memory is None:
        yield "- memory: not known"
        return
    limit = "no cgroup limit"
    if memory["limit_bytes"] is not None:
        limit = f"the cgroup limit of {size(memory['limit_bytes'])}"
    kills = "unknown" if memory["oom_kills"] is None else memory["oom_kills"]
    yield (
        f"- memory: {size(memory['working_set_bytes'])} working set against "
        f"{limit}; OOM kills seen: {kills}"
    )


def _money(status: Row) -> Iterator[str]:
    """What the box costs and what ends it; nothing where that is not known."""
    cost, platform = status.get("cost"), status.get("platform")
    if cost is not None:
        yield f"- cost: {_line(cost['text'])}"
    if platform is None:
        return
    for clock in platform["clocks"]:
        yield f"- clock: {_line(clock['text'])}; then: {_line(clock['effect'])}"
    if platform["stop"]:
        undo = "" if platform["stop_can_be_undone"] else ", which cannot be undone"
        yield f"- stops the meter on {_line(platform['name'])}: {_line(platform['stop'])}{undo}"
    for sentence in platform["if_stopped_now"]:
        yield f"- {_line(sentence, starts=True)}"


def _gpu(gpu: Row) -> str:
    if gpu["lost"]:
        return "LOST"
    parts = []
    if gpu["util_ratio"] is not None:
        parts.append(f"{gpu['util_ratio']:.0%} busy")
    if gpu["mem_used_bytes"] is not None and gpu["mem_total_bytes"]:
        parts.append(f"{size(gpu['mem_used_bytes'])} of {size(gpu['mem_total_bytes'])}")
    if gpu["power_w"] is not None:
        parts.append(f"{gpu['power_w']:.0f} W")
    if gpu["temp_c"] is not None:
        parts.append(f"{gpu['temp_c']:.0f} °C")
    parts += [f"throttled: {', '.join(gpu['throttle'])}"] if gpu["throttle"] else []
    return ", ".join(parts) or "nothing can be read"


def _watch(status: Row, watch: Iterable[Row]) -> Iterator[str]:
    for source in watch:
        detail = f": {_line(source['detail'])}" if source["detail"] else ""
        blind = "" if source["state"] in ("ok", "starting", "impaired") else " (BLIND)"
        if source["state"] == "unsupported":
            blind = " (not on this box)"
        yield f"- {_line(source['source'], starts=True)}: {source['state']}{blind}{detail}"
    heartbeat = status.get("heartbeat")
    if heartbeat is not None and heartbeat["set"]:
        yield f"- {_line(silence_words.standing(heartbeat), starts=True)}"
    for note in status["notes"]:
        yield f"- note: {_line(note)}"


def _command(words: Iterable[str]) -> str:
    """A command as a shell takes it, masked; what is hidden is not quoted."""
    masked = mask_words(list(words))
    return " ".join(word if "***" in word else shlex.quote(word) for word in masked)


def _container(container: Row) -> Iterator[str]:
    """The container of the run, and where its mounts lie outside of it."""
    if not container.get("name"):
        return
    policy = (
        f", restart policy {container['restart_policy']}" if container["restart_policy"] else ""
    )
    yield f"- container: {_line(container['name'] + policy)} (image {_line(container['image'] or 'not known')})"
    for mount in container["mounts"][:MOUNTS_SHOWN]:
        yield f"  - {_line(mount['path'], starts=True)} is {_line(mount['host'])} of the host"


def _handover(status: Row) -> Iterator[str]:
    yield f"- command: {_code(_command(status['command']) or 'unknown')}"
    yield f"- folder: {_line(status['cwd']) or 'unknown'}"
    for log in status["logs"]:
        yield f"- log: {_line(log['path'])}"
    yield from _container(status.get("container") or {})
    if status.get("resumed_from"):
        yield f"- resumed from: {_line(status['resumed_from'])}"
    yield f"- first thing to type: {_code('middlewatch status ' + status['run'])}"
    if status["checkpoints"]["resume_from"]:
        command = _code(f"middlewatch resume {status['run']}")
        yield f"- to resume it after its end: {command} (--exec starts it)"
