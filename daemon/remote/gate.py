"""The gate before a box is given back: everything that speaks against it, each in a sentence of its own.

Nothing is done here, and nothing is asked: what the box has, what was proved at home and what a person
has approved are given. A box is given back by a person, by the platform's own verb.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .boxes import Approval
from .manifest import UNREADABLE, BoxName, Manifest, RunFiles

APPROVED_S = 3600.0
"""Seconds for which an approval holds. Our choice: long enough to do it, too short to forget it."""
_MOST_NAMED = 3
_GRAIN_NS = 2_000_000_000
"""Some file systems at home keep times to 2 s."""

Kind = Literal[
    "no_runs",
    "alive",
    "not_pulled",
    "pulled_alive",
    "newer_files",
    "unreadable",
    "unverified",
    "newer_checkpoint",
    "changed_at_home",
    "volatile_copy",
    "not_loaded",
    "open_critical",
    "not_approved",
    "approval_expired",
    "approval_of_other",
]
Verb = Literal["destroy", "stop"]


@dataclass(frozen=True, slots=True)
class Blocker:
    """One reason not to give the box back."""

    kind: Kind
    run: str
    """Id of the run; empty: it is about the box."""
    why: str
    step: str
    """What to do."""


@dataclass(frozen=True, slots=True)
class Copy:
    """The entry of a run in a receipt at home."""

    dest: str
    entry: Mapping[str, Any]
    changed: tuple[str, ...] = ()
    """Names of files at home that are not as they were proved, or not there."""
    volatile: str = ""
    """Why the folder at home does not last; empty: it does."""


FindCopy = Callable[[str], "Copy | None"]
"""The newest receipt at home for a run."""


def blockers(host: str, manifest: Manifest, copy_of: FindCopy) -> list[Blocker]:
    """What speaks against giving the box back, besides a missing approval."""
    if not manifest.runs:
        return [
            Blocker(
                "no_runs",
                "",
                f"{manifest.box.host} knows of no run, so nothing proves that nothing is lost",
                f"look yourself: ssh {host}",
            )
        ]
    return [one for run in manifest.runs for one in _of_run(host, run, copy_of(run.run))]


def _of_run(host: str, run: RunFiles, copy: Copy | None) -> Iterator[Blocker]:
    name, pull = run.run, f"middlewatch pull {host}:{run.run} {copy.dest if copy else 'DEST'}"
    if run.alive:
        step = f"let it end, or: ssh {host} middlewatch end {name}"
        yield Blocker("alive", name, f"{name} is still running ({run.state})", step)
    criticals = [
        one
        for one in run.incidents
        if one.get("severity") == "critical" and one.get("state") == "open"
    ]
    if criticals:
        told = ", ".join(f"{one['id']} ({one['class']})" for one in criticals[:_MOST_NAMED])
        yield Blocker(
            "open_critical",
            name,
            f"{name} has critical incidents that nobody has acknowledged: {told}",
            f"ssh {host} middlewatch ack {criticals[0]['id']}",
        )
    for one in run.waiting:
        yield Blocker(
            "unverified",
            name,
            f"{one.path}{_at(one.step)} is not verified: {one.why}",
            f"ssh {host} middlewatch checkpoints {name} --rescan",
        )
    unread = [one for one in run.left_out if not one.checkpoint and one.why.startswith(UNREADABLE)]
    for one in unread[:_MOST_NAMED]:
        step = "let somebody read it who may"
        yield Blocker("unreadable", name, f"{one.path} was not brought home: {one.why}", step)
    if copy is None:
        yield Blocker("not_pulled", name, f"{name} was never brought home whole", pull)
        return
    if copy.entry.get("alive") and not run.alive:
        why = f"{name} was brought home while it was running, and has ended since"
        yield Blocker("pulled_alive", name, why, pull)
    yield from _newer(run, copy, pull)
    if copy.changed:
        yield Blocker(
            "changed_at_home",
            name,
            f"{len(copy.changed)} files in {copy.dest} are not as they were proved: "
            f"{_some(copy.changed)}",
            pull,
        )
    if copy.volatile:
        why = f"the copy of {name} in {copy.dest} does not last: {copy.volatile}"
        yield Blocker("volatile_copy", name, why, "bring it to a disk that does")
    here = {one.at_home: one for one in map(_Saved, copy.entry.get("checkpoints", ()))}
    bare = [one.at_home for one in here.values() if one.level != "load"]
    if bare:
        yield Blocker(
            "not_loaded",
            name,
            f"{len(bare)} checkpoints of {name} were read to the last number, and never loaded: "
            f"{_some(bare)}",
            f"{pull} --python PATH   (a Python with torch)",
        )


class _Saved:
    """A checkpoint of a receipt."""

    def __init__(self, entry: Mapping[str, Any]) -> None:
        self.at_home = str(entry["name"])
        self.level = entry.get("level")


def _newer(run: RunFiles, copy: Copy, pull: str) -> Iterator[Blocker]:
    """What the box has that the copy does not."""
    known = {row["path"]: row for row in copy.entry.get("roster", ())}
    done = (*copy.entry.get("checkpoints", ()), *copy.entry.get("damaged", ()))
    proved = {row["path"]: row.get("digest") for row in done}
    of_saves: set[str] = set()
    for one in run.checkpoints:
        root = run.places[one.place].root.rstrip("/")
        of_saves |= {f"{root}/{name}" for name in one.members}
        if one.path not in proved or proved[one.path] != one.digest:
            why = f"{one.path}{_at(one.step)} was saved after {run.run} was brought home"
            yield Blocker("newer_checkpoint", run.run, why, pull)
    newer = []
    for file in run.files:
        path = run.on_box(file)
        row = known.get(path)
        same = row is not None and row["bytes"] == file.bytes and row["mtime_ns"] == file.mtime_ns
        if not same and path not in of_saves:
            newer.append(path)
    if newer:
        why = f"{len(newer)} files of {run.run} are newer on the box than at home: {_some(newer)}"
        yield Blocker("newer_files", run.run, why, pull)


def approval_blocker(
    host: str, box: BoxName, verb: Verb, approval: Approval | None, now: float
) -> Blocker | None:
    """Why the approval does not count; ``None`` when it does."""
    step = f"middlewatch teardown {host} --verb {verb}   (at a terminal)"
    if approval is None:
        why = f"no person has approved to {verb} {box.host}"
        return Blocker("not_approved", "", why, step)
    if approval.verb != verb or approval.host != host:
        why = f"the approval is to {approval.verb} {approval.host}, and not to {verb} {host}"
        return Blocker("approval_of_other", "", why, step)
    if not 0 <= now - approval.at <= APPROVED_S:
        why = f"the approval to {verb} {box.host} has expired: it held for an hour"
        return Blocker("approval_expired", "", why, step)
    return None


def phrase(host: str, verb: Verb) -> str:
    """What a person types to approve: the verb and the box."""
    return f"{verb} {host}"


def unchanged(row: Mapping[str, Any], size: int, mtime_ns: int) -> bool:
    """Whether a file at home is as the receipt says."""
    return bool(row["bytes"] == size and abs(row["mtime_ns"] - mtime_ns) <= _GRAIN_NS)


def _at(step: float | None) -> str:
    return "" if step is None else f" (step {step:g})"


def _some(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
