"""The closed vocabulary: its rows agree, and nothing speaks of a class that has none."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from middlewatch.daemon.cli.drill import KINDS
from middlewatch.daemon.parsers.signatures import Signature
from middlewatch.sentinels.kit import Finding, RunFacts, Sentinel, Severity, View
from middlewatch.sentinels.kit.classes import (
    CLASSES,
    ROWS,
    Group,
    TroubleClass,
    UnknownClass,
    _by_name,
    row,
    which,
)

ROOT = Path(__file__).resolve().parents[3]


def test_rows_stand_in_the_order_of_causes() -> None:
    order = list(Group)
    places = [order.index(each.group) for each in CLASSES]
    assert places == sorted(places)
    assert [g.rank for g in order] == sorted(g.rank for g in order)
    assert set(places) == set(range(len(order))), "no group is empty"


def test_marks_agree() -> None:
    for each in CLASSES:
        noise = each.collective or each.side_effect
        assert each.teardown or not noise, f"{each.name}: what ranks say at the end is noise"
        assert bool(each.forecasts) == (each.group is Group.FORECAST)
        assert each.numbers or not each.spoils_saves
        assert not (each.part_of and each.forecasts)


def test_a_class_is_part_of_what_stands_above_it() -> None:
    for each in CLASSES:
        for cause in each.part_of:
            assert row(cause).rank <= each.rank, (cause, each.name)


def test_no_row_names_what_has_none() -> None:
    with pytest.raises(UnknownClass, match=r"'lr_zerro' of the row of slow has no row"):
        _by_name((TroubleClass("slow", Group.SLOW, part_of=("lr_zerro",)),))


def test_one_name_is_one_row() -> None:
    with pytest.raises(ValueError, match=r"two rows of one name.*: slow"):
        _by_name((TroubleClass("slow", Group.SLOW), TroubleClass("slow", Group.HANG)))


def test_a_class_without_a_row_is_unknown() -> None:
    with pytest.raises(UnknownClass, match=r"'tomorrow' .*sentinels/kit/classes\.py"):
        row("tomorrow")
    assert "tomorrow" not in which(lambda _: True)


def test_a_signature_needs_a_row() -> None:
    with pytest.raises(UnknownClass, match="of the signature new"):
        Signature("new", "tomorrow", "x")


def test_a_finding_needs_a_row() -> None:
    def check(view: View, limits: None) -> list[Finding]:
        return [Finding("tomorrow", Severity.INFO, "x")]

    with pytest.raises(UnknownClass, match="'tomorrow' of early has no row"):
        Sentinel(check, None, on=(), name="early")(View(0.0, RunFacts("run", 0.0, 0.0)))


# ------------------------------------------------------------------------ names in the code

OWN_WORDS = ("drill.py", "silence_words.py", "dead_man.py", "box_words.py", "answers.py")
"""The first calls its drills troubles (the classes they wait for are asked below), the others what is wrong with
the watch itself: its heartbeat, its routes, the answers from a phone, a box that does not answer."""
ASKED = frozenset({"trouble", "cause", "symptom", "class"})


def named(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Classes that code spells out: given as ``trouble=``, or compared with a trouble."""
    for node in ast.walk(tree):
        found: list[ast.expr] = []
        if isinstance(node, ast.keyword) and node.arg == "trouble":
            found = [node.value]
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(_name(side) in ASKED for side in sides):
                found = sides
        for each in found:
            if _name(each) not in ASKED:
                for leaf in ast.walk(each):
                    if isinstance(leaf, ast.Constant) and isinstance(leaf.value, str):
                        yield leaf.lineno, leaf.value


def _name(node: ast.expr) -> str:
    """The last word of ``a.trouble``, ``trouble`` or ``a["class"]``."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return node.id if isinstance(node, ast.Name) else ""


def test_every_class_that_code_spells_out_has_a_row() -> None:
    spelled, unknown = set(), []
    for path in sorted(p for room in ("daemon", "sentinels") for p in (ROOT / room).rglob("*.py")):
        for line, name in named(ast.parse(path.read_text(encoding="utf-8"))):
            spelled.add(name)
            if name not in ROWS and name and path.name not in OWN_WORDS:
                unknown.append(f"{path.relative_to(ROOT)}:{line}: {name}")
    assert unknown == []
    assert {"hang", "blind", "python_exception", "quota_exceeded"} <= spelled


def test_drills_wait_for_classes() -> None:
    assert {name for kind in KINDS.values() for name in kind.classes} <= ROWS.keys()
