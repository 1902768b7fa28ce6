"""The plan to resume a run that ended: from which checkpoint, by which command, and whether it may.

The input is what the daemon answers: the run, its index of checkpoints, its incidents. The files of
the checkpoints are looked at again, because after the end of a run nobody watches them.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from middlewatch.sentinels.handbook import page
from middlewatch.sentinels.kit.classes import which
from middlewatch.sentinels.kit.numbers import number

from ..checkpoints.finder import CheckpointPath
from ..checkpoints.followed import fingerprint_of
from ..checkpoints.formats.names import folder_kind
from ..checkpoints.formats.recognise import listing
from ..system.clock import epoch, iso
from ..system.processes import Processes
from .commands import Continuation, continuation, fitting, framework_of
from .requirements import what_is_missing
from .script import find

Row = Mapping[str, Any]
Check = Callable[[str], dict[str, Any]]
"""Reads a whole checkpoint; returns the dict of ``verify.describe``."""

ALLOWED = frozenset({"yes", "once", "none", "ask"})
"""Values of ``retry`` in the handbook with which a run may be resumed. ``ask``: a person ended the
run, and a person has to decide, which is done by typing the command."""


@dataclass(frozen=True, slots=True)
class ChosenCheckpoint:
    """The checkpoint to resume from (``entry``; ``None``: there is none), and those passed over."""

    entry: Row | None
    verdict: Row | None = None
    """``state``, ``level``, ``at`` and ``detail`` of the check that counts."""
    skipped: tuple[Row, ...] = ()


@dataclass(slots=True)
class ResumePlan:
    """Everything that a person or a program needs to resume a run."""

    run: Row
    chosen: ChosenCheckpoint
    way: Continuation
    retry: Row
    refused: list[str] = field(default_factory=list)
    """Why it must not be resumed; ``--force`` overrides none of these."""
    warnings: list[str] = field(default_factory=list)


def pick(runs: Sequence[Row], name: str | None) -> Row | None:
    """The run to resume: by id or name, else the newest failed one that was not resumed yet.

    Of several with one name the newest; without a failed one the newest of all. ``None`` where
    there is none.
    """
    if name:
        known = [r for r in runs if name in (r["run"], r["name"])]
        return max(known, key=lambda r: (r["run"] == name, _began(r)), default=None)
    resumed = {r.get("resumed_from") for r in runs}
    failed = [r for r in runs if r["state"] == "failed" and r["run"] not in resumed]
    return max(failed or runs, key=_began, default=None)


def _began(run: Row) -> float:
    return epoch(run["started_at"])


def choose(
    index: Row, framework: str, check: Check, *, again: bool, now: float
) -> ChosenCheckpoint:
    """The newest checkpoint that passes its check, and the newer ones that were passed over.

    The verdict in the index counts while the files have the same bytes and times as then. Otherwise
    the checkpoint is read now; with ``again`` one that passed is read now in any case.
    """
    skipped: list[Row] = []
    for entry in reversed(fitting(framework, index["checkpoints"])):
        stored = entry["verified"]
        unchanged = _is_unchanged(entry)
        if unchanged is None:
            skipped.append(_passed_over(entry, "gone", "its files do not exist any more"))
            continue
        if unchanged and stored["state"] in ("corrupt", "incomplete"):
            skipped.append(_passed_over(entry, stored["state"], stored["detail"]))
            continue
        verdict = stored
        if again or not unchanged or stored["state"] != "ok":
            verdict = _verdict(check(entry["path"]), now)
        if verdict["state"] == "ok":
            return ChosenCheckpoint(entry, verdict, tuple(skipped))
        skipped.append(_passed_over(entry, verdict["state"], verdict["detail"]))
    return ChosenCheckpoint(None, None, tuple(skipped))


def named(index: Row, path: str, check: Check, now: float) -> ChosenCheckpoint:
    """The checkpoint that a person named (``--from``); it is read now in any case."""
    checked = check(path)
    verdict = _verdict(checked, now)
    known = next((e for e in index["checkpoints"] if e["path"] == path), None)
    entry = known or {**checked, "saved_at": iso(_newest(path)), "verified": verdict}
    if verdict["state"] != "ok":
        return ChosenCheckpoint(
            None, None, (_passed_over(entry, verdict["state"], verdict["detail"]),)
        )
    return ChosenCheckpoint(entry, verdict)


def _verdict(checked: Row, now: float) -> dict[str, Any]:
    """The result of a check at ``now``, in the shape of the index."""
    return {key: checked[key] for key in ("state", "level", "detail")} | {"at": iso(now)}


def _passed_over(entry: Row, state: str, detail: str) -> dict[str, Any]:
    return {"path": entry["path"], "step": entry["step"], "state": state, "detail": detail}


def _newest(path: str) -> float | None:
    mark = fingerprint_of(_place(path))
    return mark.newest_ns / 1e9 if mark.files else None


def _place(path: str) -> CheckpointPath:
    kind = None
    if os.path.isdir(path):
        kind = folder_kind(os.path.basename(path.rstrip("/")), *listing(path)) or "folder"
    return CheckpointPath(path, kind, leftover=False, mtime_ns=0)


def _is_unchanged(entry: Row) -> bool | None:
    """Whether the files have the bytes and time of the index. ``None``: they are gone."""
    try:
        mark = fingerprint_of(_place(entry["path"]))
    except OSError:
        return None
    if not mark.files:
        return None
    return bool(mark.bytes == entry["bytes"] and iso(mark.newest_ns / 1e9) == entry["saved_at"])


# --------------------------------------------------------------------------- may it be resumed


BAD_SAVES = which(lambda c: c.bad_save)
SPOIL_SAVES = which(lambda c: c.spoils_saves)
NOTHING: Row = {
    "class": None,
    "incident": None,
    "since": None,
    "retry": None,
    "allowed": True,
    "why": "",
    "first_step": "",
}
"""There is no trouble that forbids to resume."""


def retry_of(state: str, incidents: Sequence[Row], earlier: Collection[str]) -> Row:
    """Whether the run may be resumed: what the handbook says of the trouble that decides.

    ``state`` and ``incidents``: of this run. ``earlier``: classes of trouble of the runs that it
    was resumed from; one of them whose page says ``once`` is not allowed again. The open critical
    incidents decide, first one that forbids it; where none is open, the last critical one does.
    Incidents about bad saves do not count: the chosen checkpoint is checked by itself.
    """
    if state == "finished":
        more = "To train it further, raise its number of steps and start the command."
        return {**NOTHING, "allowed": False, "why": "It finished.", "first_step": more}
    critical = [i for i in incidents if i["severity"] == "critical" and i["class"] not in BAD_SAVES]
    decide = [i for i in critical if i["state"] != "resolved"]
    decide = decide or sorted(critical, key=lambda i: epoch(i["last_seen_at"]))[-1:]
    rows = [_retry(i, earlier) for i in decide]
    return min(rows, key=lambda r: bool(r["allowed"]), default=NOTHING)


def _retry(incident: Row, earlier: Collection[str]) -> dict[str, Any]:
    trouble = str(incident["class"])
    entry = page(trouble)
    word = entry.retry if entry else ""
    why = entry.sections["Retry"] if entry else "the handbook has no page of this class"
    allowed = word in ALLOWED
    if word == "once" and trouble in earlier:
        allowed, why = False, f"it was tried once already. {why}"
    return {
        "class": trouble,
        "incident": incident["id"],
        "since": incident["opened_at"],
        "retry": word or None,
        "allowed": allowed,
        "why": why,
        "first_step": incident["remedy"]["first_step"],
    }


def ancestors(runs: Sequence[Row], run: Row) -> list[str]:
    """Ids of the runs that this one was resumed from, nearest first."""
    known = {r["run"]: r for r in runs}
    found: list[str] = []
    before = run.get("resumed_from")
    while before and before not in found:
        found.append(before)
        before = known.get(before, {}).get("resumed_from")
    return found


def was_resumed(runs: Sequence[Row], run: Row) -> bool:
    """True if another run was resumed from this one, however that one ended."""
    return any(other.get("resumed_from") == run["run"] for other in runs)


def before_trouble(index: Row, retry: Row) -> str:
    """Path of the newest verified checkpoint from before the numbers went bad.

    Empty where there is none, or where the trouble is no such one.
    """
    if retry["class"] not in SPOIL_SAVES or not retry["since"]:
        return ""
    older = (
        entry["path"]
        for entry in reversed(index["checkpoints"])
        if entry["verified"]["state"] == "ok" and epoch(entry["saved_at"]) < epoch(retry["since"])
    )
    return next(older, "")


def survivors(command: Sequence[str], cwd: str) -> list[int]:
    """Ids of processes that still run the script of ``command`` with its arguments: ranks may
    outlive their launcher."""
    script = find(command, cwd)
    if script.at is None:
        return []
    tail = script.words[script.at :]
    mine = (os.getpid(), os.getppid())
    return [
        p.pid
        for p in Processes().values()
        if p.pid not in mine and p.argv[-len(tail) :] == tail and p.cwd in (cwd, "")
    ]


def is_alive(run: Row) -> bool:
    """True if the run has not ended, as far as the daemon knows."""
    return run["ended_at"] is None and run["exit"] is None


# ------------------------------------------------------------------------------ the whole plan


def plan(
    run: Row,
    runs: Sequence[Row],
    chosen: ChosenCheckpoint,
    retry: Row,
    missing: Sequence[str],
    older: str = "",
) -> ResumePlan:
    """Put together what was found. ``missing``: names of variables that are not set now;
    ``older``: the newest good checkpoint from before the trouble."""
    entry = chosen.entry
    path = entry["path"] if entry else run["checkpoints"]["resume_from"] or ""
    way = continuation(
        run["command"], run["cwd"], path, format_=entry["format"] if entry else "unknown"
    )
    made = ResumePlan(run, chosen, _set_aside(way, chosen), retry)
    _refuse(made, runs)
    _warn(made, missing)
    _warn_late(made, older)
    return made


def framework(run: Row) -> str:
    """The framework of a run's command; "" where it is not known."""
    return framework_of(find(run["command"], run["cwd"]))


def _set_aside(way: Continuation, chosen: ChosenCheckpoint) -> Continuation:
    """Add commands that rename newer bad checkpoints, where a script loads the newest by itself."""
    if not way.newest or chosen.entry is None:
        return way
    bad = [s["path"] for s in chosen.skipped if s["state"] != "gone"]
    aside = tuple(("mv", path, f"{path}.bad") for path in bad)
    return Continuation(way.framework, way.how, way.command, way.words, way.newest, aside)


def _refuse(made: ResumePlan, runs: Sequence[Row]) -> None:
    run = made.run
    if is_alive(run):
        made.refused.append(f"{run['run']} still runs (pid {run['pid']})")
    elif pids := survivors(run["command"], run["cwd"]):
        shown = ", ".join(str(pid) for pid in pids[:8])
        made.refused.append(f"processes of {run['run']} still run: {shown}")
    for other in runs:
        if run["run"] in ancestors(runs, other) and is_alive(other):
            still = f"still runs (pid {other['pid']})"
            made.refused.append(f"{other['run']} was resumed from it and {still}")


def _warn(made: ResumePlan, missing: Sequence[str]) -> None:
    warn = made.warnings.append
    entry, skipped = made.chosen.entry, made.chosen.skipped
    for one in skipped:
        named_step = "" if one["step"] is None else f" (step {number(one['step'])})"
        reason = f"{one['state']}: {one['detail']}" if one["detail"] else one["state"]
        falls = f"; falls back to {entry['path']}" if entry and one is skipped[-1] else ""
        warn(f"passed over {one['path']}{named_step}, {reason}{falls}")
    durability = (entry or {}).get("durability") or {}
    for what, word in (("survives_stop", "stopped"), ("survives_destroy", "destroyed")):
        if durability.get(what) is False:
            warn(f"the checkpoint is lost when this box is {word}: {durability.get('where')}")
            break
    verdict = made.chosen.verdict
    if verdict is not None and verdict["level"] not in ("finite", "load"):
        warn(f"it was not checked for NaN or infinity (level {verdict['level']})")
    if missing:
        warn(f"environment variables of the first start that are not set now: {', '.join(missing)}")
    if entry is not None and made.way.how in ("perhaps", "unknown"):
        warn(made.way.words)
    if lacks := what_is_missing(made.run["command"], made.run["cwd"]):
        warn(lacks)


def _warn_late(made: ResumePlan, older: str) -> None:
    """Warn about a checkpoint that was saved after the numbers went bad."""
    entry, retry = made.chosen.entry, made.retry
    if entry is None or retry["class"] not in SPOIL_SAVES or not retry["since"]:
        return
    if epoch(entry["saved_at"]) >= epoch(retry["since"]):
        rather = f"--from {older} is older" if older else "there is no older good one"
        made.warnings.append(f"it was saved after {retry['class']} was seen; {rather}")


def lost(run: Row, entry: Row | None) -> tuple[float | None, float | None]:
    """(steps, minutes) between the checkpoint and the last step that was seen.

    Steps are ``None`` where the last step in the log is below that of the checkpoint: then the log
    counts other units.
    """
    if entry is None:
        return None, None
    last, step = run["now"]["step"], entry["step"]
    counted = isinstance(last, (int, float)) and isinstance(step, (int, float)) and last >= step
    steps = last - step if counted else None
    seen = run["now"]["last_step_at"] if counted else run["ended_at"]
    if seen is None or entry["saved_at"] is None:
        return steps, None
    return steps, max(0.0, (epoch(seen) - epoch(entry["saved_at"])) / 60)


def as_dict(made: ResumePlan) -> dict[str, Any]:
    """The plan as ``resume --json`` prints it."""
    run, chosen, way = made.run, made.chosen, made.way
    entry, verdict = chosen.entry, chosen.verdict
    steps, minutes = lost(run, entry)
    shown = None
    if entry is not None and verdict is not None:
        shown = {key: entry.get(key) for key in ("path", "step", "epoch", "saved_at", "bytes", "format")}  # fmt: skip
        shown |= {"state": verdict["state"], "level": verdict["level"], "verified_at": verdict["at"]}  # fmt: skip
        shown["detail"] = verdict["detail"]
    return {
        "run": run["run"],
        "state": run["state"],
        "framework": way.framework or None,
        "how": way.how,
        "words": way.words,
        "cwd": run["cwd"],
        "start_command": list(run["command"]),
        "command": list(way.command) if entry else None,
        "shell": f"cd {shlex.quote(run['cwd'])} && {shlex.join(way.command)}" if entry else None,
        "before": [shlex.join(words) for words in way.before] if entry else [],
        "env_names": list(run.get("env_names") or ()),
        "checkpoint": shown,
        "skipped": [dict(s) for s in chosen.skipped],
        "last_step": run["now"]["step"],
        "step_lost": steps,
        "minutes_lost": None if minutes is None else round(minutes, 2),
        "retry": dict(made.retry),
        "refused": list(made.refused),
        "warnings": list(made.warnings),
    }
