"""What a report of ``replay`` says about the reason of an end, and what to do first."""

from __future__ import annotations

import re
from dataclasses import dataclass

from middlewatch.sentinels.handbook import page
from middlewatch.sentinels.kit import HandbookPage
from middlewatch.sentinels.kit.classes import COLLECTIVE

from ..config.secrets import mask
from ..replay.one_log import FileLine, proof
from ..replay.stood import apart, raised_at, stood
from ..replay.subject import Subject
from ..replay.verdict import UNWRITTEN, LogTrouble
from ..report.first_steps import BY_MESSAGE, first_step_in_log, values_in
from ..report.known_errors import known_step
from ..report.words import filled

_REASON = re.compile(r" \((?P<label>before it|because|host): (?P<what>.+)\)$")
"""What is put behind a proof; see :func:`~middlewatch.daemon.replay.one_log.with_reason`."""
_SAVE = r"the newest save(?: before step [\d,.e+]{1,20})?"
_FROM_SAVE = re.compile(rf"from {_SAVE} on \(`middlewatch checkpoints`\)")
_NEWEST = re.compile(rf"; {_SAVE}: `middlewatch checkpoints`")
"""Places in first steps that speak of a save, of which the log may have none."""
MANY_SAVES = 4
"""Saves on a full file system from which keeping fewer of them is the first step (our choice)."""


@dataclass(frozen=True, slots=True)
class Advice:
    """The rows about a cause, from its proof to the first step."""

    proof: str
    reasons: tuple[tuple[str, str], ...]
    """(label, words) of what stands behind the proof."""
    first: str
    then: str = ""
    """The second step, where the first only looks."""


def advice(subject: Subject, told: LogTrouble, place: FileLine) -> Advice:
    """The proof of the cause of a failed run, its reasons, and what to do first."""
    said = subject.proofs.get(place) or proof(told)
    cause = str(subject.ending.cause)
    entry = page(cause)
    stopped, waited = stood(subject.case.view.events) if cause == "interrupted" else ("", "")
    ranks, meet = apart(subject.case.view.events) if cause in COLLECTIVE else ("", "")
    match = _REASON.search(said)
    below, known_below = _below(subject, place, said)
    last = str(told.newest.details.get("chain_last", ""))
    reasons = tuple(
        (label, words)
        for label, words in (
            (match["label"], match["what"]) if match else ("", ""),
            ("because", below),
            ("raised as", last if last not in said else ""),
            ("stopped", stopped),
            ("ranks", mask(ranks)),
            ("at", "" if ranks or stopped else mask(raised_at(told.newest.details))),
        )
        if words
    )
    by_proof = first_step_in_log(cause, place.line, said, told.details)
    own = (
        waited
        or meet
        or subject.steps.get(place, "")
        or _fewer_saves(subject, told)
        or told.newest.remedy
        or told.first.remedy
        or known_below
        or (known_step(last) if cause in BY_MESSAGE else "")
        or by_proof
    )
    usual = entry.first_step.text if entry is not None and entry.steps else ""
    values = values_in(said) | _folder(subject, told)
    then = _second(entry, said) if not own else ""
    if not any(s.at.order < told.first.line for s in subject.story.saves):
        own = _NEWEST.sub(
            "; no save lies before it",
            _FROM_SAVE.sub("from the beginning on (no save lies before it)", own),
        )
    return Advice(
        said[: match.start()] if match else said,
        reasons,
        mask(filled(own or usual, values)),
        mask(filled(then, values)),
    )


def _second(entry: HandbookPage | None, said: str) -> str:
    """The usual second step: the first one only looks."""
    if entry is None or len(entry.steps) < 2:
        return ""
    if entry.name == "network_error" and "huggingface" not in said:
        return ""  # it is about files of the hub
    return entry.steps[1].text


def _below(subject: Subject, place: FileLine, said: str) -> tuple[str, str]:
    """(line, first step) for a message that only goes on below its first line, and is known there."""
    if known_step(said):
        return "", ""
    for line in subject.below.get(place, "").splitlines():
        if step := known_step(line):
            return line.strip()[:200], step
    return "", ""


def wrote_last(subject: Subject, told: LogTrouble) -> int | None:
    """The place of a save that was only announced when the write failed that ended the run; ``None`` if a report
    came between."""
    if told.newest.trouble not in UNWRITTEN and told.newest.trouble != "quota_exceeded":
        return None
    before = [s.at.order for s in subject.story.saves if s.at.order < told.first.line]
    last = subject.story.last
    return before[-1] if before and (last is None or last.order < before[-1]) else None


def _fewer_saves(subject: Subject, told: LogTrouble) -> str:
    saves = len(subject.story.saves)
    if wrote_last(subject, told) is None or saves < MANY_SAVES:
        return ""
    return (
        f"make room where the saves go (`df -h DIR; df -i DIR; du -xsh DIR/*`), and keep fewer of them from now on, after {saves} saves "
        "(`save_total_limit`, `save_top_k`, `save_best_only`), or save to a larger place; then go on from the newest whole one"
    )


def _folder(subject: Subject, told: LogTrouble) -> dict[str, str]:
    """The folder of the save that could not be written, by its announcement."""
    failed = wrote_last(subject, told)
    path = next((s.path for s in subject.story.saves if s.at.order == failed), None)
    if path is None or not re.fullmatch(r"[\w./~+=-]{1,300}", path):
        return {}
    folder = path.rpartition("/")[0] or "."
    return {"MOUNT": folder, "DIR": folder}
