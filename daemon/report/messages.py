"""What a person reads on the phone: title and body of a push."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from middlewatch.sentinels.kit import CheckpointSaved, CheckpointSeen, HandbookPage, Severity
from middlewatch.sentinels.kit.numbers import number, span

from ..config.run_spec import RunSpec
from ..config.secrets import mask
from ..judge.causes import FORECASTS
from ..judge.incidents import Change, Incident
from ..text.chat import defused
from ..text.moments import past
from ..text.terminal import one_line
from .first_steps import first_step
from .last_save import last_good, newest_text
from .titles import titled
from .words import repeats, sentence

MAX_BODY = 1000
"""Characters of a body without attachments. Programs that receive pushes rely on it."""


@dataclass(frozen=True, slots=True)
class Message:
    """One push. ``kind`` is Apprise's type: info, success, warning, failure."""

    title: str
    body: str
    kind: str
    incident: str = ""
    trouble: str = ""
    """Class of the trouble that it is about: many of one class at once are sent as one push."""
    key: str = ""
    """What it tells, the same after a restart of the daemon: it is told once. Empty: always new."""
    every: bool = False
    """Goes to every URL also in mode ``ladder``, which normally tries the next only after one failed."""
    severity: str = ""
    """Severity by which it is routed; empty: by ``kind``."""
    run: str = ""
    """Name of the run that it is about, by which it is routed."""
    about: str = ""
    """The trouble, the same each time that it comes: what comes and goes all day is told a few times."""
    facts: str = ""
    """File from which the notifier draws what is sent with it (:mod:`.attachments`); empty: nothing is."""


TEST = Message(
    "[TEST] middlewatch can reach you",
    "This is a test push: alerts reach your phone.",
    "info",
    every=True,
)
"""What ``alert test`` sends: a test has to cover all URLs."""


SHOWN = 3
"""Runs named in a title, and whose checkpoints are named: a phone shows no more."""

_KINDS = {Severity.CRITICAL: "failure", Severity.WARNING: "warning", Severity.INFO: "info"}


def compose(
    change: Change,
    name: str,
    host: str,
    entry: HandbookPage | None,
    checkpoints: Sequence[CheckpointSeen],
    now: float,
    others: Sequence[tuple[str, Sequence[CheckpointSeen]]] = (),
    claims: Iterable[CheckpointSaved] = (),
    spec: RunSpec | None = None,
    cost: str = "",
) -> Message:
    """The push for one change of an incident of run ``name`` on ``host``.

    ``others``: (name, checkpoints) of the other runs that a trouble of the box concerns.
    ``claims``: saves that the log of the run claims. ``spec``: of the run, for the values in the
    first step. ``cost``: a sentence about what it cost; empty where no price is known.
    """
    incident = change.incident
    runs = [(name, checkpoints), *others]
    names = [short(one, 60) for one, _ in runs]
    alerted = incident.alerted_at is not None
    label = {
        "opened": incident.severity.label.upper(),
        "raised": incident.severity.label.upper(),
        "corrected": "CORRECTED"
        if alerted and not change.worse
        else incident.severity.label.upper(),
    }.get(change.kind, "RESOLVED")
    resolved = change.kind == "resolved"
    what = str(incident.details.get("outcome", "")) if resolved else incident.summary
    if not resolved:
        what = sentence(what, entry.title if entry else "")
    told = short(what, 120)
    brief = f"{len(names)} runs" if others else ""
    title = titled(label, _several(names), short(host, 60), told, brief)
    whole_name = [] if others or names[0] in title else [f"Run: {names[0]}"]
    whole_name += [] if short(host, 60) in title else [f"Box: {short(host, 60)}"]
    if resolved:
        lasted = span(now - incident.opened_at)
        long = [] if repeats(what, (told,)) else [f"Seen to be well: {short(what, 300)}."]
        body = [
            *whole_name,
            *long,
            f"{incident.trouble} is over after {lasted}. It was: {short(incident.summary, 300)}",
            *([f"{short(cost, 120)}."] if cost else []),
            f"Incident {incident.id}: middlewatch explain {incident.id}",
        ]
        return Message(title, "\n".join(body), "success", incident.id, incident.trouble)
    proofs = [short(e.text, 240) for e in incident.evidence[:3]]
    # What the title has said, the body does not say again.
    whole = short(incident.summary, 300)
    lines = whole_name if repeats(whole, (told, *proofs)) else [*whole_name, whole]
    if others:
        lines.append(f"Runs concerned: {short(', '.join(names), 200)}")
    if change.kind == "raised" and alerted:
        lines.append(f"It got worse: {change.was} before.")
    # Without an earlier push there is nothing to correct.
    if change.kind == "corrected" and alerted:
        lines.append(_corrected(change.was, incident.trouble))
    lines.append(f"Since {past(incident.onset, now)}")
    news = [text for text in proofs if not repeats(text, (told,))] or proofs[:1]
    lines += [f"Proof: {_unless_told(text, told)}" for text in news]
    lines += [f"Symptom: {short(s, 120)}" for s in incident.symptoms[:2]]
    for place, (one, saves) in enumerate(runs[:SHOWN]):
        of = f"{short(one, 40)}: " if others else ""
        good = last_good(saves, () if place else claims, incident, now)
        lines.append(of + short(good.text, 480))
    if cost:
        lines.append(short(cost[0].upper() + cost[1:], 160))
    lines.append(first_line(incident, entry, spec))
    lines.append(f"Incident {incident.id}: middlewatch explain {incident.id}")
    kind = _KINDS[incident.severity]
    return Message(title, fitted(lines), kind, incident.id, incident.trouble)


def plain(change: Change, name: str, host: str, now: float) -> Message:
    """The push when :func:`compose` fails: what the incident itself says, and nothing worked out."""
    incident, resolved = change.incident, change.kind == "resolved"
    label = "RESOLVED" if resolved else incident.severity.label.upper()
    what = str(incident.details.get("outcome", "")) if resolved else incident.summary
    title = titled(label, short(name, 60), short(host, 60), short(what, 120))
    lines = [f"Since {past(incident.onset, now)}"]
    lines += [f"Proof: {short(e.text, 240)}" for e in incident.evidence[:1]]
    lines += [f"First step: middlewatch explain {incident.trouble}", f"Incident {incident.id}"]
    kind = "success" if resolved else _KINDS[incident.severity]
    return Message(title, fitted(lines), kind, incident.id, incident.trouble)


def plain_end(name: str, host: str, reason: str) -> Message:
    """The push about the end of a run when :func:`failed` fails."""
    title = titled("FAILED", short(name, 60), short(host, 60), short(mask(reason), 120))
    return Message(title, "First step: middlewatch status", "failure")


def _several(names: Sequence[str]) -> str:
    """The runs in a title: ``a``, ``a, b and c``, ``a, b and 7 more``."""
    if len(names) == 1:
        return names[0]
    if len(names) > SHOWN:
        return f"{', '.join(names[: SHOWN - 1])} and {len(names) - SHOWN + 1} more"
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _unless_told(proof: str, told: str) -> str:
    """A proof; of a line of a log that the title has quoted only its place."""
    place = re.match(r"(\S+:\d+): ", proof)
    quoted = place is not None and repeats(proof[place.end() :], (told,))
    return f"{place[1]} (quoted above)" if place is not None and quoted else proof


def first_line(incident: Incident, entry: HandbookPage | None, spec: RunSpec | None = None) -> str:
    """The line with the first step."""
    step, safe = first_step(incident, entry, spec)
    return f"First step{'' if safe else ' (costly)'}: {short(mask(step), 400)}"


def _corrected(was: str, trouble: str) -> str:
    if was == trouble:
        return "Reported before while the run was alive; it has ended since."
    if was in FORECASTS:
        return f"The warning {was} has come true: {trouble}."
    return f"Reported as {was} before; the cause is {trouble}."


def finished(name: str, host: str, status: dict[str, Any]) -> Message:
    """The push about a run that finished, by its ``status --json``."""
    lines = [f"The run reached its end: {short(status['state_reason'], 300)}."]
    lines += reached(status)
    lines += _paid(status)
    lines.append("Copy and verify the results, then stop the box: it is still billed.")
    return Message(f"[FINISHED] {short(name, 60)} on {short(host, 60)}", fitted(lines), "success")


def failed(
    name: str,
    host: str,
    status: dict[str, Any],
    cause: Incident | None,
    entry: HandbookPage | None,
) -> Message:
    """The push about a run that failed, where no push about an incident has told its end.

    ``status``: its ``status --json``. ``cause``: the incident that explains the end, told earlier,
    and ``entry``: the handbook page of its class.
    """
    how = _exit_words(status["exit"])
    lines = []
    if cause is not None:
        lines.append(f"The cause was told before: {short(cause.summary, 200)}")
        lines += [f"Symptom: {short(s, 200)}" for s in cause.symptoms[-1:]]
    last = next((line for line in reversed(status["log_tail"]) if line.strip()), "")
    lines += [f"Last line of its log: {short(mask(last), 200)}"] if last else []
    lines += reached(status)
    lines += _paid(status)[:1]
    if cause is None:
        lines += [
            "First step: look at the end of its log: middlewatch status",
            "No incident is open",
        ]
    else:
        lines += [first_line(cause, entry), f"Incident {cause.id}: middlewatch explain {cause.id}"]
    title = titled("FAILED", short(name, 60), short(host, 60), how)
    about = ("", "failed") if cause is None else (cause.id, cause.trouble)
    return Message(title, fitted(lines), "failure", *about)


def _exit_words(exit_: dict[str, int | None] | None) -> str:
    code, signal = (exit_ or {}).get("code"), (exit_ or {}).get("signal")
    if signal is not None:
        return f"ended by signal {signal}"
    return "its exit status is not known" if code is None else f"ended with exit status {code}"


def _paid(status: dict[str, Any]) -> list[str]:
    """What the run cost, and what a stop of the box would start; nothing where that is not known."""
    cost, platform = status.get("cost"), status.get("platform")
    lines = [] if cost is None else [f"Cost: {short(cost['text'], 240)}"]
    if platform is not None and platform["stop"]:
        undo = "" if platform["stop_can_be_undone"] else ", which cannot be undone"
        lines.append(short(f"Stops the meter on {platform['name']}: {platform['stop']}{undo}", 200))
        lines += [short(one, 200) for one in platform["if_stopped_now"][:1]]
    return lines


def reached(status: dict[str, Any]) -> list[str]:
    """Lines with the last step and the newest good checkpoint of a run that ended."""
    now, lines = status["now"], []
    loss = now["values"].get("train_loss")
    if now["step"] is not None:
        shown = "" if loss is None else f", loss {number(float(loss))}"
        lines.append(f"Last step {number(now['step'])}{shown}")
    resume = status["checkpoints"]["resume_from"]
    newest = newest_text(status["checkpoints"].get("pending", ()), resume)
    return [*lines, f"Newest good checkpoint: {short(newest, 400)}"]


def not_good(
    seen: CheckpointSeen, incident: str, name: str, host: str, good: str | None
) -> Message:
    """The push about a save that an earlier push called still being checked, and that is bad.

    ``good``: the newest checkpoint that is good. ``incident``: id of what was told then, or empty.
    """
    told = short(seen.path.rpartition("/")[2], 80)
    title = titled("CORRECTED", short(name, 60), short(host, 60), f"{told} is {seen.state}")
    lines = [f"An earlier push called it still being checked: {short(seen.path, 200)}"]
    lines.append(f"It is {seen.state}: {short(seen.detail, 300)}")
    lines.append(f"Newest good checkpoint: {short(good or 'none is known', 400)}")
    lines.append(f"Incident {incident}: middlewatch explain {incident}" if incident else "")
    return Message(title, fitted(lines).rstrip(), "warning", incident)


def store_lost(host: str, aside: str, *, in_use: bool = False) -> Message:
    """The push about a store that was lost and begun anew; ``aside``: where the old one lies now.

    ``in_use``: the daemon still knew what was in it.
    """
    what = "damaged" if aside else "deleted or replaced"
    lines = [f"The store of middlewatch was {what}. A new one was begun, and the watch goes on."]
    if in_use:
        lines.append("The runs, incidents and silences that the daemon knew were written to it.")
        step = ["First step: middlewatch doctor"]
    else:
        lines.append(
            "Runs and incidents from before are not known any more, and silences are over."
        )
        step = [
            "First step: name the runs that are missing in `middlewatch runs`: middlewatch watch"
        ]
    if aside:
        lines.append(f"The damaged file was kept: {short(aside, 200)}")
    lines += [*step, "Then look for the cause: df -h, and the kernel log for errors of the disk."]
    title = f"[WARNING] middlewatch on {short(host, 60)} has lost its memory"
    return Message(title, "\n".join(lines), "warning")


def not_read(host: str, lost: Sequence[str]) -> Message:
    """The push about documents of the store that cannot be read; ``lost``: their kinds and ids."""
    lines = [
        "Records in the store of middlewatch cannot be read. They are kept, and not used any more:",
        *(short(one, 100) for one in lost),
        "A run among them that still runs is watched from here on; what was known of it is lost.",
        "First step: name the runs that are missing in `middlewatch runs`: middlewatch watch",
    ]
    title = f"[WARNING] middlewatch on {short(host, 60)} cannot read a part of its memory"
    return Message(title, fitted(lines), "warning")


def with_aside(message: Message, aside: str) -> Message:
    """The same push with one more sentence behind its first line."""
    first, *rest = message.body.split("\n")
    return replace(message, body=fitted([first, short(aside, 300), *rest]))


def drilled(message: Message) -> Message:
    """The same push, marked as a drill in its title and its body."""
    notice = "This is a drill: a toy run got into this trouble on purpose, nothing real is wrong."
    body = fitted([notice, *message.body.split("\n")])
    return replace(message, title=f"[DRILL] {message.title}", body=body)


def short(text: str, limit: int) -> str:
    """Printable characters on one line, cut to ``limit``: a title may become a mail header. Nothing in
    it is obeyed by a chat service."""
    text = defused(one_line(text))
    return text if len(text) <= limit else text[: limit - 1] + "…"


def fitted(lines: Sequence[str]) -> str:
    """Join within the limit; the last two lines (first step, id) are never the ones cut."""
    tail = "\n".join(lines[-2:])
    head, room = "\n".join(lines[:-2]), MAX_BODY - len(tail) - 1
    if len(head) > room:
        head = head[: room - 1] + "…"
    return f"{head}\n{tail}"
