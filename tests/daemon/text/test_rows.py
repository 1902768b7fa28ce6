"""Rows are exactly as wide as asked for, in any script."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from middlewatch.daemon.text import rows
from middlewatch.daemon.text.rows import Span

TEXT = st.text(st.sampled_from("ab 中文字–×"), max_size=30)
ROW = st.lists(st.builds(Span, TEXT, st.sampled_from(["", "bad", "dim"])), max_size=4).map(tuple)


@given(ROW, st.integers(0, 60))
def test_pad_gives_the_exact_width(line: rows.Row, width: int) -> None:
    padded = rows.pad(line, width)
    assert rows.width_of(padded) == width
    assert rows.pad(padded, width) == padded
    assert all(a.tone != b.tone for a, b in pairwise(padded))


@given(TEXT, st.integers(0, 20))
def test_cuts_fit_and_say_so(text: str, width: int) -> None:
    for cut in (rows.cut, rows.cut_left):
        short = cut(text, width)
        assert cell_len(short) <= width
        assert short == text or "…" in short or width == 0
    assert cell_len(rows.fill(text, width, right=True)) == width


def test_of_a_path_the_end_stays() -> None:
    assert rows.cut_left("/data/gpt/out/ckpt.pt", 11) == "…ut/ckpt.pt"


@given(TEXT, st.integers(2, 20))
def test_wrapping_loses_nothing_but_spaces(text: str, width: int) -> None:
    pieces = rows.wrap(text, width)
    assert all(cell_len(piece) <= width for piece in pieces)
    assert "".join(pieces).replace(" ", "") == text.replace(" ", "")


def test_wrapping_breaks_at_words() -> None:
    assert rows.wrap("resume from the last one", 12) == ["resume from", "the last one"]


@given(ROW, ROW, st.integers(0, 60))
def test_the_right_end_is_never_lost(left: rows.Row, right: rows.Row, width: int) -> None:
    line = rows.ends(left, right, width)
    assert rows.plain([line]).endswith(rows.plain([right]))


@given(st.integers(0, 30), st.integers(0, 30), st.integers(1, 10))
def test_the_chosen_one_is_in_the_window(total: int, chosen: int, height: int) -> None:
    first = rows.window(total, min(chosen, max(0, total - 1)), height)
    assert 0 <= first <= max(0, total - height)
    assert not total or first <= min(chosen, total - 1) < first + height
