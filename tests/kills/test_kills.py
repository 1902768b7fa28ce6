"""A short row of kills. The long one: ``scripts/bench-kills``."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..fakes.box import Push
from .lane import Lane, Pace
from .truth import CRITICAL, KINDS, Training, judge

QUICK = Pace(
    lives=(0.02, 1.2),
    steps=(250, 320),
    pause=0.02,
    absent=(0.0, 0.0, 0.3),
    quiet=1.0,
    # A NaN that recovers may do so between two daemons of a busy box, and then nobody tells it.
    kinds=tuple(kind for kind in KINDS if kind != "recovers"),
)
KILLS = 7


@pytest.mark.slow
def test_what_outlives_kills(tmp_path: Path) -> None:
    lane = Lane(tmp_path / "lane", 4, QUICK)
    try:
        lane.kill_often(KILLS)
        score = lane.finish()
    finally:
        lane.close()
    assert score.kills >= KILLS
    assert score.trainings >= 3
    assert score.lines > 500
    assert score.troubles >= 2
    assert not score.wrong, vars(score)


class TestJudge:
    """The judgement itself: each thing that must not happen is noticed."""

    @staticmethod
    def trainings(folder: Path) -> list[Training]:
        made = []
        for kind in KINDS:
            log = folder / kind
            log.write_text("step 1\nstep 2\n")
            made.append(Training(kind, kind, log, kind, 1, True))
        return made

    @staticmethod
    def pushes() -> list[Push]:
        return [push(f"[CRITICAL] {kind} on vm: it is bad", kind) for kind in CRITICAL]

    def score(self, folder: Path, pushes: list[Push], lines: int = 2) -> dict[str, list[str]]:
        counted = dict.fromkeys(KINDS, lines)
        made = judge(self.trainings(folder), counted, pushes, [0.0, 100.0])
        made.kills = 1
        wrong = {k: v for k, v in vars(made).items() if isinstance(v, list) and v}
        assert made.wrong == bool(set(wrong) - {"again"})
        return wrong

    def test_all_is_well(self, tmp_path: Path) -> None:
        resolved = push("[RESOLVED] recovers on vm: it went on", "recovers")
        assert self.score(tmp_path, [*self.pushes(), resolved]) == {}

    def test_lines(self, tmp_path: Path) -> None:
        assert len(self.score(tmp_path, self.pushes(), 3)["miscounted"]) == len(KINDS)

    def test_a_trouble_that_nobody_was_told(self, tmp_path: Path) -> None:
        assert self.score(tmp_path, self.pushes()[1:]) == {"untold": ["nan (nan): []"]}

    def test_a_push_again_is_allowed_after_a_kill_only(self, tmp_path: Path) -> None:
        told = self.pushes()
        after = push(told[0].title, "nan", at=150.0)
        assert set(self.score(tmp_path, [*told, after])) == {"again"}
        assert set(self.score(tmp_path, [*told, told[0]])) == {"again", "without_kill"}
        other = push(told[0].title, "beef", at=150.0)
        assert set(self.score(tmp_path, [*told, other])) == {"again", "anew"}

    def test_what_is_not_true(self, tmp_path: Path) -> None:
        resolved = push("[RESOLVED] killed on vm: it went on", "killed")
        alarm = push("[WARNING] none on vm: it is bad", "none")
        assert set(self.score(tmp_path, [*self.pushes(), resolved, alarm])) == {
            "false_resolved",
            "false_alarms",
        }


def push(title: str, incident: str, at: float = 50.0) -> Push:
    return Push(at, title, f"Incident {incident}", "")
