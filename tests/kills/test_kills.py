"""A short row of kills. The long one: ``scripts/bench-kills``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ..fakes.box import Push
from .lane import EACH, Lane, Pace
from .truth import CRITICAL, KINDS, Training, judge

QUICK = Pace(
    lives=(0.02, 1.2),
    steps=(250, 320),
    pause=0.02,
    absent=(0.0, 0.0, 0.3),
    quiet=1.0,
    # A NaN that recovers may do so between two daemons of a busy box, and then nobody tells it.
    kinds=tuple(kind for kind in KINDS if kind != "recovers"),
    victims=EACH,
)
KILLS = 8


@pytest.mark.slow
def test_what_outlives_kills(tmp_path: Path) -> None:
    """Of the daemon, of its notifier, and of both."""
    lane = Lane(tmp_path / "lane", 4, QUICK)
    try:
        lane.kill_often(KILLS)
        # One that is sure to hit a notifier: the end of this training is pushed, if nothing else is.
        lane.begin()
        lane.box.until(lane.kill_notifier, "a notifier")
        score = lane.finish()
    finally:
        lane.close()
    assert score.all_kills > KILLS
    assert score.notifier_kills
    assert score.incidents >= 2
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

    def score(
        self,
        folder: Path,
        pushes: list[Push],
        lines: int = 2,
        messages: dict[str, dict[str, Any]] | None = None,
    ) -> dict[str, list[str]]:
        counted = dict.fromkeys(KINDS, lines)
        made = judge(self.trainings(folder), counted, pushes, [0.0, 100.0], [300.0], messages or {})
        made.kills = made.notifier_kills = 1
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

    def test_a_push_comes_again_once_for_each_kill_of_the_notifier(self, tmp_path: Path) -> None:
        again = [push(self.pushes()[0].title, "nan", at=at) for at in (150.0, 151.0)]
        assert set(self.score(tmp_path, [*self.pushes(), *again])) == {"again"}
        again.append(push(again[0].title, "nan", at=152.0))
        assert set(self.score(tmp_path, [*self.pushes(), *again])) == {"again", "without_kill"}

    def test_a_push_that_is_read_late_is_of_the_daemon_before(self, tmp_path: Path) -> None:
        title = self.pushes()[0].title
        two = [push(title, "nan", at=at) for at in (151.0, 152.0)]
        late = replace(push(title, "nan", at=150.0), orphan=True)
        assert set(self.score(tmp_path, [*self.pushes()[1:], late, *two])) == {"again"}
        late = replace(late, orphan=False)
        found = self.score(tmp_path, [*self.pushes()[1:], late, *two])
        assert set(found) == {"again", "without_kill"}

    def test_what_was_stored_and_never_arrived(self, tmp_path: Path) -> None:
        title = "[CRITICAL] nan on vm: it is worse"
        lost = {"title": title, "state": "sent", "incident": "nan", "created_at": 9.0}
        stored: dict[str, dict[str, Any]] = {"id9": lost, "id8": lost | {"state": "silent"}}
        assert self.score(tmp_path, self.pushes(), messages=stored) == {
            "undelivered": ["[CRITICAL] nan on vm: it is worse (sent)"]
        }

    def test_the_order_within_an_incident(self, tmp_path: Path) -> None:
        titles = {"id1": "[CRITICAL] nan on vm: a", "id2": "[FAILED] nan on vm: b"}
        stored = {
            name: {"title": title, "state": "sent", "incident": "nan", "created_at": at}
            for at, (name, title) in enumerate(titles.items())
        }
        first, second = (push(title, "nan", key=name) for name, title in titles.items())
        right = [*self.pushes(), first, second]
        assert self.score(tmp_path, right, messages=stored) == {}
        copy = push(first.title, "nan", at=150.0, key="id1")
        assert set(self.score(tmp_path, [*right, copy], messages=stored)) == {"again"}
        wrong = self.score(tmp_path, [*self.pushes(), second, first], messages=stored)
        assert wrong == {"disordered": [first.title]}

    def test_a_resolved_of_what_nobody_was_told(self, tmp_path: Path) -> None:
        title = "[RESOLVED] recovers on vm: it went on"
        stored = {"id1": {"title": title, "state": "sent", "incident": "x", "created_at": 1.0}}
        told = [*self.pushes(), push(title, "x", key="id1")]
        assert set(self.score(tmp_path, told, messages=stored)) == {"disordered"}

    def test_what_is_not_true(self, tmp_path: Path) -> None:
        resolved = push("[RESOLVED] killed on vm: it went on", "killed")
        alarm = push("[WARNING] none on vm: it is bad", "none")
        assert set(self.score(tmp_path, [*self.pushes(), resolved, alarm])) == {
            "false_resolved",
            "false_alarms",
        }


def push(title: str, incident: str, at: float = 50.0, key: str = "") -> Push:
    return Push(at, title, f"Incident {incident}", "", key=key)
