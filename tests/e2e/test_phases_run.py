"""A training in phases: each begins only when the one before it has done what it was for."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ..fakes.box import Box

PROGRAM = Path(__file__).with_name("programs") / "again.py"


@pytest.fixture
def train(box: Box) -> Callable[..., str]:
    """Launches the toy in three phases; returns the id of the first."""
    box.configure("[again]\npause_s = 1\n")
    out = box.root / "out"

    def begin(second: str = "", last: str = "") -> str:
        words = [sys.executable, str(PROGRAM), "finish", "--out", str(out)]
        text = f'[job]\nname = "toy"\ncommand = {json.dumps(words)}\ncheckpoints = "{out}"\n'
        for name, more in (("broad", ""), ("curated", second), ("cooldown", last)):
            text += f'[[phase]]\nname = "{name}"\nsteps = 30\nsuccess = "eval_loss < 2.9"\n'
            text += f"arguments = {json.dumps(['--makes', '30', *more.split()])}\n"
        (box.root / "job.toml").write_text(text)
        done = box.command("launch", "job.toml", "--json")
        return str(json.loads(done.stdout)["run"])

    return begin


def phases(box: Box) -> list[dict[str, Any]]:
    return sorted(box.ask("runs"), key=lambda one: str(one["started_at"]))


def decided(box: Box, count: int) -> bool:
    """So many runs are known, and what follows the newest of them was decided."""
    known = phases(box)
    return len(known) == count and ((known[-1]["again"] or {}).get("decision") or {}).get(
        "state"
    ) == ("left")


def starts(box: Box) -> list[int]:
    return [int(line.split()[1]) for line in (box.root / "out" / "starts").read_text().splitlines()]


def test_three_phases_follow_each_other(box: Box, train: Callable[..., str]) -> None:
    """The second has other data, whose loss is higher: that is no trouble."""
    first = train(second="--jump 2.5")
    box.until(lambda: decided(box, 3), "the end of the third phase")
    known = phases(box)
    assert [one["phase"] for one in known] == ["broad", "curated", "cooldown"]
    assert known[0]["run"] == first
    assert starts(box) == [0, 30, 60]
    box.until(lambda: any("FINISHED" in p.title for p in box.receiver.pushes), "the last push")
    titles = [push.title for push in box.receiver.pushes]
    assert [title.partition("]")[0] for title in titles] == ["[PHASE", "[PHASE", "[FINISHED"], (
        titles
    )
    assert "phase curated begins" in titles[0]
    assert "phase cooldown begins" in titles[1]
    assert "eval_loss is 2" in box.receiver.pushes[0].body
    # Each phase ended with a milestone, which those after it know as well.
    index = box.ask("checkpoints", run=known[-1]["run"])
    marked = [c["step"] for c in index["checkpoints"] if "milestone" in c["tags"]]
    box.until(
        lambda: (
            [
                c["step"]
                for c in box.ask("checkpoints", run=known[-1]["run"])["checkpoints"]
                if "milestone" in c["tags"]
            ]
            == [30, 60, 90]
        ),
        f"three milestones, not {marked}",
    )
    for one in known[:-1]:
        report = (box.state / "runs" / one["run"] / "report.md").read_text()
        assert one["run"] in report
    assert box.ask("incidents", all=True) == []


def test_a_phase_that_missed_its_aim_is_the_last(box: Box, train: Callable[..., str]) -> None:
    train(second="--reaches 3.5")
    box.until(lambda: decided(box, 2), "the decision about the third phase")
    why = phases(box)[-1]["again"]["decision"]["why"]
    assert why == "phase curated is done, but eval_loss is 3.5 (wanted: eval_loss < 2.9)"
    push = box.push(lambda p: "FAILED" in p.title)
    assert "phase cooldown is not begun" in push.title
    assert "eval_loss is 3.5 (wanted: eval_loss < 2.9)" in push.body
    assert starts(box) == [0, 30]


def test_a_phase_that_ends_too_early_is_the_last(box: Box, train: Callable[..., str]) -> None:
    train(second="--stuck 40")
    box.until(lambda: decided(box, 2), "the decision about the third phase")
    assert "ended after 10 of its 30 steps" in phases(box)[-1]["again"]["decision"]["why"]
    assert starts(box) == [0, 30]


def test_print_shows_every_phase(box: Box, train: Callable[..., str]) -> None:
    train()
    done = box.command("launch", "job.toml", "--print")
    assert done.stdout.count("again.py finish") == 3
