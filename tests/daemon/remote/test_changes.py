"""Between the screen and a daemon only what changed goes over the line."""

from __future__ import annotations

import copy
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.remote.changes import Changes
from middlewatch.daemon.remote.relayed import Relayed
from middlewatch.daemon.system import jsonlines
from middlewatch.daemon.system.errors import MiddlewatchError

from ...fakes import local_shell

ASKED = {"v": 1, "op": "overview", "limit": 500}
STATE = {
    "host": "box3",
    "runs": [{"run": f"r-{n}", "words": "x" * 200} for n in range(20)],
    "at": 0,
}


def told(between: Changes, asked: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    between.question(jsonlines.encode(asked))
    return jsonlines.decode(between.answer(jsonlines.encode(answer)))


def test_whole_once_and_then_what_changed() -> None:
    between, asked = Changes(), {**ASKED, "changes": True}
    assert told(between, asked, {"ok": True, "data": STATE})["data"] == STATE
    later = {**STATE, "at": 1}
    change = {"op": "replace", "path": "/at", "value": 1}
    assert told(between, asked, {"ok": True, "data": later}) == {"ok": True, "patch": [change]}
    assert told(between, asked, {"ok": True, "data": later}) == {"ok": True, "patch": []}
    # Who does not ask for it gets it whole, and is not mistaken for another question.
    assert told(between, ASKED, {"ok": True, "data": STATE})["data"] == STATE
    assert told(between, {**asked, "limit": 9}, {"ok": True, "data": STATE})["data"] == STATE
    assert told(between, asked, {"ok": True, "data": STATE})["patch"]


def test_what_is_no_repetition_is_handed_on_as_it_is() -> None:
    between, asked = Changes(), {**ASKED, "changes": True}
    told(between, asked, {"ok": True, "data": STATE})
    for answer in (
        {"ok": False, "error": "too long", "hint": "", "exit_code": 5},
        {"ok": True, "data": STATE, "next": "7"},
    ):
        assert told(between, asked, answer) == answer
        assert "data" in told(between, asked, {"ok": True, "data": STATE})
    assert told(between, {**asked, "after": "7"}, {"ok": True, "data": STATE})["data"] == STATE
    between.question(b"not JSON\n")
    assert between.answer(b"nor this\n") == b"nor this\n"


def test_answers_that_follow_are_never_touched() -> None:
    between, asked = Changes(), {**ASKED, "changes": True}
    told(between, asked, {"ok": True, "data": STATE})
    line = jsonlines.encode({"ok": True, "data": STATE})
    between.question(jsonlines.encode({"v": 1, "op": "follow", "changes": True}))
    assert [between.answer(line) for _ in range(3)] == [line] * 3


class Loop(Relayed):
    """Both ends without what lies between them."""

    def __init__(self, answers: Iterator[Any]) -> None:
        super().__init__("box3")
        self.between, self.answers = Changes(), answers
        self._process = subprocess.Popen("true")

    def _say(self, op: str, args: Any) -> None:
        self.between.question(jsonlines.encode({"v": 1, "op": op, **args}))

    def readline(self, limit: int, /) -> bytes:
        del limit
        return self.between.answer(jsonlines.encode({"ok": True, "data": next(self.answers)}))


ROWS = st.lists(st.dictionaries(st.sampled_from("abc"), st.integers(0, 3), max_size=3), max_size=4)


@given(st.lists(st.tuples(ROWS, st.integers(0, 3)), min_size=1, max_size=6))
def test_the_screen_sees_every_state(states: list[tuple[list[dict[str, int]], int]]) -> None:
    answers = [{"runs": rows, "at": at, "host": "box3" * 50} for rows, at in states]
    far = Loop(iter(copy.deepcopy(answers)))
    assert [copy.deepcopy(far.ask("overview")) for _ in answers] == answers
    far.close()


def test_another_question_between_two_of_them_changes_nothing() -> None:
    first = {"runs": [], "at": 1, "words": "x" * 300}
    far = Loop(iter([first, {"any": "thing"}, {**first, "at": 2}]))
    assert far.ask("overview")["at"] == 1
    assert far.ask("status", run="overview") == {"any": "thing"}
    assert far.ask("overview")["at"] == 2
    far.close()


DAEMON = """#!/bin/sh
read asked; echo '{"ok": true, "data": {"runs": [], "at": 1}}'
read asked; echo '{"ok": true, "patch": [{"op": "replace", "path": "/no/such", "value": 1}]}'
read asked
"""


def test_a_patch_that_does_not_fit_breaks_the_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RSYNC_RSH", str(local_shell.shell(tmp_path)))
    local_shell.box(tmp_path, "box3", DAEMON)
    far = Relayed("box3")
    assert far.ask("overview")["at"] == 1
    with pytest.raises(MiddlewatchError, match="makes no sense"):
        far.ask("overview")
    assert far._process is None
    far.close()
