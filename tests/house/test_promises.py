"""The promises in SECURITY.md: each names tests, and these are there."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
_TEST = re.compile(r"`(tests/[\w/.]+\.py)::(\w+)`")
_FILE = re.compile(r"`((?:daemon|sentinels|tui)/[\w/.]*)`")


def rows() -> list[list[str]]:
    """The cells of the table of promises."""
    section = TEXT.partition("\n## Promises\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


@lru_cache
def functions_of(path: str) -> frozenset[str]:
    """Test functions of a file."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    found = (node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return frozenset(name for name in found if name.startswith("test_"))


def test_every_promise_has_a_test_that_is_there() -> None:
    assert len(rows()) >= 25
    wrong = []
    for promise, _, cell in rows():
        named = _TEST.findall(cell)
        rest = _TEST.sub("", cell).strip(", ")
        if not named or rest:
            wrong.append(f"{promise[:60]}: {rest or 'no test'}")
        for path, name in named:
            there = (ROOT / path).is_file()
            if not there or name not in functions_of(path):
                wrong.append(f"{promise[:60]}: {path}::{name}")
    assert wrong == []


def test_where_it_is_kept_is_there() -> None:
    gone = [
        place
        for _, where, _ in rows()
        for place in _FILE.findall(where)
        if not (ROOT / place).exists()
    ]
    assert gone == []


def test_no_test_is_named_twice_for_one_promise() -> None:
    for promise, _, cell in rows():
        named = _TEST.findall(cell)
        assert len(named) == len(set(named)), promise
