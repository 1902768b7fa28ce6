"""How a run ended: whether it had finished, stopped as it announced, was cut off, or is just gone.

How programs end, in the order in which the evidence is believed:

1. They say that they leave the loop early (early stopping, patience, a time limit).
2. Their counters stand at the planned total: steps, epochs, a percentage.
3. They say that all is done, and no further step comes.
4. They write results, save or evaluate after the last step, and exit with status 0.

An end that nobody saw is not proof of trouble by itself.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from .last_words import LastWords
from .numbers import number
from .observations import Phase, ProcessEnded
from .progress import WENT_ON, plan_reached, planned
from .vanished import vanished
from .view import View

How = Literal["finished", "stopped", "cut", "early", "unknown"]

NEARLY = 0.9
"""Part of the plan from which results alone are believed to be the end, and up to which a run has
clearly not reached its plan. Our choice: a last interval between two reports is rarely longer."""


_UNMEANT = re.compile(r"(?i)\b(?:stopping|interrupting) training\b|\bnot reached\b")
"""A line about the end of the data which says that more was planned."""


class End(NamedTuple):
    """The judgement about the end of a run."""

    how: How
    """``finished``; ``stopped``: early, and it says so; ``cut``: evidence shows that something
    ended it before its time; ``early``: exit status 0 clearly before the plan without a word, or at
    its very beginning; ``unknown``: none of these."""
    why: str = ""
    """The evidence, as a phrase: the closing line, "the last step of its plan was reached"."""

    @property
    def well(self) -> bool:
        """It ended by itself, as it meant to."""
        return self.how in ("finished", "stopped")


def end_of(view: View, ending: ProcessEnded, slack_ratio: float = 0.01) -> End:
    """How a run ended whose exit status is 0 or not known; errors are judged elsewhere."""
    words = list(view.last_words.values())
    far = _far(view, words)
    if far == 0 and ending.exit_code == 0:
        said = next((w.said for w in words if w.said), "")
        return End("early", f"its log says: {said}" if said else "")
    if stopped := next((w.said for w in words if w.farewell == "stop"), ""):
        return End("stopped", f"its log says: {stopped}")
    ran_out = next((w.ran_out for w in words if w.ran_out), "")
    if ran_out and (far < NEARLY if far is not None else _UNMEANT.search(ran_out)):
        return End("early", f"its log says: {ran_out}")
    if done := next((w for w in words if w.farewell == "end" and w.said), None):
        short = done.short_of and not plan_reached(view, slack_ratio)
        return End("early" if short else "finished", f"its log says: {done.said}")
    if any(w.reached for w in words) or plan_reached(view, slack_ratio):
        return End("finished", "the last step of its plan was reached")
    phase = _announced(view)
    if phase is not None:
        return End("finished", f"its log says: {phase.text}")
    cleanly = ending.exit_code == 0
    results = next((w.said for w in words if w.farewell == "results"), "")
    if results and (cleanly or far is None or far >= NEARLY):
        return End("finished", f"its log says: {results}")
    if cleanly:
        if far is None:
            return End("finished", "exit status 0")
        if far >= 1.0 - slack_ratio and plan_reached(view, slack_ratio) is not False:
            return End("finished", "exit status 0 at the end of its own count")
        if _worked_after_the_loop(view):
            return End("finished", "exit status 0 after a last save or evaluation")
        return End("early" if far < NEARLY and not _closed(words) else "unknown")
    gone = vanished(view, ending)
    if gone is not None and (gone.words or gone.how != "unknown"):
        return End("cut", gone.words)
    left = left_behind(view, ending)
    if left and far is not None and far < NEARLY:
        return End("cut", f"{left} of its processes were left behind")
    return End("unknown")


def left_behind(view: View, ending: ProcessEnded) -> int:
    """Number of processes of the run that outlive the main one. A program that ends by itself takes
    its workers with it; one that was killed cannot."""
    if not view.process_samples or view.process_samples[-1].at < ending.at:
        return 0
    return sum(p.pid != ending.pid for p in view.process_samples[-1].processes)


def last_line(view: View) -> str:
    """The last line of the log that grew last; empty when it is not known."""
    known = [(g.grown_at, file) for file, g in view.logs.items() if file in view.last_words]
    if known:
        return view.last_words[max(known)[1]].last_line
    return next((w.last_line for w in view.last_words.values() if w.last_line), "")


def counted(view: View) -> tuple[float | None, float | None]:
    """(newest step, planned steps), ``None`` for what is not known."""
    step = view.last_step.number if view.last_step else None
    if step is None and view.step_times:
        step = view.step_times[-1][1]
    return step, planned(view)


def place(view: View) -> str:
    """How far the run came, as a phrase: "step 30 of 400"; empty when nothing is known."""
    step, total = counted(view)
    words = view.last_words.values()
    said = next((w.short_of or w.counted for w in words if w.short_of or w.counted), None)
    if said is not None and (step is None or total is None):
        if step == said[0]:
            return f"step {number(said[0])} of {number(said[1])}"
        return f"{number(said[0])} of {number(said[1])} by its own count"
    if step is None:
        return ""
    return f"step {number(step)}" + ("" if total is None else f" of {number(total)}")


def _far(view: View, words: list[LastWords]) -> float | None:
    """Part of the plan that was reached; ``None`` without a plan."""
    short = next((w.short_of for w in words if w.short_of), None)
    if short is not None:
        return short[0] / short[1]
    said = next((w.counted for w in words if w.counted), None)
    if said is not None:
        return said[0] / said[1]
    reached, total = counted(view)
    return None if reached is None or not total else reached / total


def _announced(view: View) -> Phase | None:
    """The line that says that training is done, unless the run went on after it."""
    for phase in reversed(view.phases):
        if phase.name == "done":
            return None if _went_on(view, phase) else phase
    return None


def _went_on(view: View, phase: Phase) -> bool:
    seen: set[tuple[float | None, float | None]] = set()
    for step in reversed(view.steps):
        if step.at < phase.at or (step.file == phase.file and step.line <= phase.line):
            break
        if "train_loss" in step.values and "train_runtime" not in step.values:
            seen.add((step.number, step.epoch))
    advances = sum(at > phase.at for at, _ in list(view.step_times)[-WENT_ON:])
    return max(len(seen), advances) >= WENT_ON


def _worked_after_the_loop(view: View) -> bool:
    """It saved or evaluated after its last step, as programs do at their end."""
    return any(phase.name in ("save", "evaluate") for phase in view.phases_since_step())


def _closed(words: list[LastWords]) -> bool:
    """There are lines of a kind that never came in the loop, whatever they say."""
    return any(w.closing for w in words)
