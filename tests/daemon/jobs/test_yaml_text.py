"""What is written as YAML is read by another program as it was."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.jobs.yaml_text import documents, scalar

yaml = pytest.importorskip(
    "yaml", reason="PyYAML is not installed: it comes with kubernetes-validate"
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
KEYS = TEXTS.filter(lambda text: not text.startswith("#"))
PLAIN = TEXTS | st.integers() | st.booleans() | st.none()
VALUES: st.SearchStrategy[Any] = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4)
)


@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_it_is_read_as_it_was(value: dict[str, Any]) -> None:
    assert (yaml.safe_load(documents(value)) or {}) == value


@pytest.mark.parametrize(
    "text",
    [
        "yes",
        "No",
        "on",
        "null",
        "~",
        "12:30",
        "0x10",
        "1e3",
        "3e-4",
        "",
        " a",
        "a: b",
        "a #b",
        "-",
        "---",
    ],
)
def test_a_text_stays_a_text(text: str) -> None:
    assert yaml.safe_load(scalar(text)) == text
    assert yaml.safe_load(documents({"a": [text, {"b": text}]})) == {"a": [text, {"b": text}]}


def test_a_script_is_a_block_and_a_comment_stands_above() -> None:
    text = documents({"#": "why\n且", "run": ["sh", "a\n  b\nc\n"], "#2": "x", "num": 1}, {"m": {}})
    assert text == (
        "# why\n# 且\nrun:\n  - sh\n  - |\n    a\n      b\n    c\n# x\nnum: 1\n---\nm: {}\n"
    )
    assert list(yaml.safe_load_all(text)) == [{"run": ["sh", "a\n  b\nc\n"], "num": 1}, {"m": {}}]
