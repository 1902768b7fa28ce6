"""What counts as right in a scene."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ..fakes.box import Push
from .stage import Play, Scene
from .verdict import judge

TRUTH = {
    "severity": "page",
    "cause_words": ["nan"],
    "wrong_words": ["out of memory"],
    "deadline_s": 60,
    "classes": ["loss_nan"],
}


def played(*pushes: tuple[float, str], kind: str = "trouble", incident: str = "loss_nan") -> Play:
    scene = Scene(Path("a-scene"), {"kind": kind, "truth": TRUTH})
    told = [(at, Push(at, title, "what\nIncident abc: explain", "failure")) for at, title in pushes]
    one: dict[str, Any] = {"id": "abc", "class": incident}
    return Play(scene, onset_s=100.0, pushes=told, incidents=[one])


def test_right_in_every_way() -> None:
    found = judge(played((110.0, "[CRITICAL] the loss is NaN")))
    assert (found.noticed, found.in_time, found.right_class, found.cause) == (True,) * 4
    assert found.quiet
    assert found.delay_s == 10.0


def test_silence() -> None:
    found = judge(played())
    assert (found.noticed, found.in_time, found.right_class, found.cause) == (False,) * 4


def test_too_late_and_of_another_class() -> None:
    found = judge(played((170.0, "[CRITICAL] nan"), incident="hang"))
    assert (found.noticed, found.in_time, found.right_class, found.cause) == (
        True, False, False, True,
    )  # fmt: skip


def test_a_wrong_word_in_any_title() -> None:
    found = judge(played((110.0, "[CRITICAL] out of memory"), (120.0, "[CORRECTED] loss is NaN")))
    assert found.cause is False


def test_a_cry_before_the_trouble() -> None:
    assert judge(played((50.0, "[WARNING] slow"))).quiet is False


def test_what_names_the_trouble_before_it_comes_has_noticed_it() -> None:
    found = judge(played((60.0, "[CRITICAL] the loss will be NaN")))
    assert (found.noticed, found.cause, found.quiet) == (True, True, True)
    assert judge(played((30.0, "[CRITICAL] the loss will be NaN"))).quiet is False


@pytest.mark.parametrize(("title", "quiet"), [("[FINISHED] well", True), ("[WARNING] slow", False)])
def test_a_healthy_job(title: str, quiet: bool) -> None:
    found = judge(played((50.0, title), kind="healthy"))
    assert (found.noticed, found.quiet) == (None, quiet)
