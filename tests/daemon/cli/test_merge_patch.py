"""A patch makes the new value of the old one, by the rules of RFC 7396."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.cli.merge_patch import merge_patch

KEYS = st.sampled_from("abc")
ATOMS = st.none() | st.booleans() | st.integers(-3, 3)
VALUES = st.recursive(
    ATOMS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=2),
    max_leaves=5,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=3)


def merged(target: Any, patch: Any) -> Any:
    """``MergePatch`` of RFC 7396, section 2."""
    if not isinstance(patch, dict):
        return patch
    found = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            found.pop(name, None)
        else:
            found[name] = merged(found.get(name), value)
    return found


def without_nulls(value: Any) -> Any:
    """To a patch null and absent are the same, in objects; a list is given whole."""
    if not isinstance(value, dict):
        return value
    return {k: without_nulls(v) for k, v in value.items() if v is not None}


@given(OBJECTS, OBJECTS)
def test_it_makes_the_new_value(before: dict[str, Any], after: dict[str, Any]) -> None:
    patched = merged(without_nulls(before), merge_patch(before, after))
    assert without_nulls(patched) == without_nulls(after)


@given(OBJECTS)
def test_what_did_not_change_is_not_in_it(value: dict[str, Any]) -> None:
    assert merge_patch(value, value) == {}


def test_it_is_short() -> None:
    before = {"run": "gpt", "now": {"step": 5, "total": None}, "logs": [1, 2], "old": 1}
    after = {"run": "gpt", "now": {"step": 6, "total": None}, "logs": [1, 3]}
    assert merge_patch(before, after) == {"now": {"step": 6}, "logs": [1, 3], "old": None}


def test_one_is_not_true() -> None:
    assert merge_patch({"a": 1}, {"a": True}) == {"a": True}
