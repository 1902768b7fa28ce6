"""A patch makes the new value of the old one, and is short."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.system.json_patch import applied, diff

KEYS = st.sampled_from(["a", "b/c", "~", ""])
ATOMS = st.none() | st.booleans() | st.integers(-1, 2) | st.floats(allow_nan=False)
VALUES = st.recursive(
    ATOMS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


def exact(value: Any) -> str:
    """As JSON: 1, 1.0 and true are three things."""
    return json.dumps(value, sort_keys=True)


@given(VALUES, VALUES)
def test_it_makes_the_new_value(before: Any, after: Any) -> None:
    patch = json.loads(json.dumps(diff(before, after)))
    was = exact(before)
    assert exact(applied(before, patch)) == exact(after)
    assert exact(before) == was


@given(VALUES)
def test_what_did_not_change_is_not_in_it(value: Any) -> None:
    assert diff(value, copy.deepcopy(value)) == []


@given(st.lists(VALUES, max_size=6), st.integers(0, 5), st.lists(VALUES, max_size=3))
def test_a_window_that_moved_on(rows: list[Any], gone: int, new: list[Any]) -> None:
    after = [*rows[gone:], *new]
    patch = diff({"log": rows}, {"log": after})
    assert exact(applied({"log": rows}, patch)) == exact({"log": after})


def test_it_is_short() -> None:
    before = {"runs": [{"id": "a", "step": 5}, {"id": "b", "step": 9}], "old": 1}
    after = {"runs": [{"id": "a", "step": 6}, {"id": "b", "step": 9}]}
    assert diff(before, after) == [
        {"op": "replace", "path": "/runs/0/step", "value": 6},
        {"op": "remove", "path": "/old"},
    ]
    log = [f"step {n}" for n in range(50)]
    assert len(diff(log, [*log[2:], "step 50", "step 51"])) == 4


def test_what_did_not_change_is_shared() -> None:
    before = {"box": {"gpus": [1, 2]}, "now": {"step": 1}}
    after = applied(before, diff(before, {"box": {"gpus": [1, 2]}, "now": {"step": 2}}))
    assert after["box"] is before["box"]


@pytest.mark.parametrize(
    "change",
    [
        {"op": "replace", "path": "/a/x", "value": 1},
        {"op": "remove", "path": "/b"},
        {"op": "remove", "path": "/list/7"},
        {"op": "replace", "path": "/list/word", "value": 1},
        {"op": "add", "path": "/list/0"},
        {"path": "/a"},
    ],
)
def test_a_patch_of_another_value_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"this patch does not fit|invalid literal"):
        applied({"a": 1, "list": [1]}, [change])
