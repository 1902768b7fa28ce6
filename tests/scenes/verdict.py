"""Was the watch right about a scene? Judged by what its author wrote before the watch was asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..fakes.box import Push
from .stage import Play

ALARMS = ("[CRITICAL]", "[WARNING]", "[CORRECTED]", "[FAILED]")
_INCIDENT = re.compile(r"^Incident (\w+)", re.MULTILINE)
EARLY_S = 3.0
"""A push may come this much before the line that the author took for the onset."""
FOREWARNED_S = 60.0
"""A push up to this much before the onset that names what then comes has noticed it in advance (that the
next save will not fit on the disk, say)."""


@dataclass(frozen=True)
class Verdict:
    """One scene; ``None`` where a question does not apply."""

    noticed: bool | None
    in_time: bool | None
    right_class: bool | None
    cause: bool | None
    quiet: bool | None
    delay_s: float | None
    told: tuple[str, ...]
    """Title and first lines of every push that is no good news, with its second."""


def judge(done: Play) -> Verdict:
    """The verdict on one played scene."""
    alarms = [(at, p) for at, p in done.pushes if p.title.startswith(ALARMS)]
    told = tuple(f"{at:.1f} s {p.title} | {p.body.splitlines()[0][:200]}" for at, p in alarms)
    if done.scene.healthy:
        return Verdict(None, None, None, None, not alarms, None, told)
    truth = done.scene.truth
    onset = done.onset_s
    words = [w.lower() for w in truth["cause_words"]]
    wrong = [w.lower() for w in truth.get("wrong_words", ())]
    after = [(at, p) for at, p in alarms if onset is not None and at >= onset - EARLY_S]
    before = [(at, p) for at, p in alarms if onset is not None and at < onset - EARLY_S]
    foretold = [
        (at, p)
        for at, p in before
        if onset is not None and at >= onset - FOREWARNED_S and _names(p, words, wrong)
    ]
    before = [one for one in before if one not in foretold]
    after = foretold + after
    if truth["severity"] == "page":
        after = [(at, p) for at, p in after if not p.title.startswith("[WARNING]")] or after
    noticed = bool(after)
    delay = after[0][0] - onset if after and onset is not None else None
    texts = [f"{p.title}\n{p.body}".lower() for _, p in after]
    # What was said last counts: a correction takes back what was said before.
    last = texts[-1] if texts else ""
    titles = "\n".join(p.title.lower() for _, p in after)
    cause = noticed and any(w in last for w in words) and not any(w in titles for w in wrong)
    return Verdict(
        noticed,
        noticed and delay is not None and delay <= truth["deadline_s"],
        (noticed and _class(after[-1][1], done.incidents) in truth["classes"])
        if "classes" in truth
        else None,
        cause,
        not before,
        delay,
        told,
    )


def _names(push: Push, words: Sequence[str], wrong: Sequence[str]) -> bool:
    """True for a push with a right word, and no wrong one in its title."""
    said = f"{push.title}\n{push.body}".lower()
    return any(w in said for w in words) and not any(w in push.title.lower() for w in wrong)


def _class(push: Push, incidents: Sequence[dict[str, Any]]) -> str:
    """The class that a push speaks of in the end; empty when it names no incident."""
    named = _INCIDENT.search(push.body)
    found = [i["class"] for i in incidents if named and i["id"] == named[1]]
    return str(found[0]) if found else ""
