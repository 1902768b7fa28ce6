from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.parsers.lines import LineCutter
from middlewatch.daemon.parsers.text import plain
from middlewatch.sentinels.kit import codec

BYTES = st.lists(
    st.sampled_from(
        [b"a", b"\n", b"\r", b"\x1b[31m", b"\x1b", b"\xff", b"  ", b"loss 1.5", b"\xe6\x8d\x9f"]
    ),
    max_size=60,
).map(b"".join)


def cut(*chunks: bytes, limit: int = 64) -> list[tuple[int, bytes, bool]]:
    cutter = LineCutter(limit)
    lines = [line for chunk in chunks for line in cutter.feed(chunk)]
    return lines + cutter.flush()


def test_lines_are_counted_from_one_and_blank_ones_count_too() -> None:
    assert cut(b"one\n\nthree\nrest") == [
        (1, b"one", True),
        (3, b"three", True),
        (4, b"rest", True),
    ]


def test_redraws_share_the_number_of_their_line() -> None:
    assert cut(b"\r 1%\r 2%\r 3%\ndone\n") == [
        (1, b" 1%", False),
        (1, b" 2%", False),
        (1, b" 3%", True),
        (2, b"done", True),
    ]


def test_windows_line_ends_are_line_ends() -> None:
    assert cut(b"a\r", b"\nb\r\r\n") == [(1, b"a", True), (2, b"b", True)]


def test_a_bar_without_newline_is_seen_while_it_runs() -> None:
    cutter = LineCutter()
    assert cutter.feed(b"\r10%") == []
    assert cutter.feed(b"\r20%") == [(1, b"10%", False)]
    assert cutter.number == 1


def test_colours_and_titles_are_removed() -> None:
    assert cut(b"\x1b]0;title\x07\x1b[1;32mok\x1b[0m\x1b[K\n") == [(1, b"ok", True)]


def test_long_lines_are_clipped_and_counted() -> None:
    cutter = LineCutter(limit=8)
    lines = cutter.feed(b"0123456789\nab\n" + b"x" * 20) + cutter.feed(b"y" * 20 + b"\nz\n")
    assert lines == [
        (1, b"01234567", True),
        (2, b"ab", True),
        (3, b"xxxxxxxx", True),
        (4, b"z", True),
    ]
    assert cutter.clipped == 2


def test_a_line_of_twenty_megabytes_holds_no_more_than_the_limit() -> None:
    cutter = LineCutter()
    for _ in range(320):
        assert cutter.feed(b"x" * 65536) == []
        assert len(cutter.partial) <= cutter.limit
    ((number, piece, _),) = cutter.feed(b"\n")
    assert (number, len(piece), cutter.clipped) == (1, cutter.limit, 1)


@given(BYTES, st.lists(st.integers(0, 300), max_size=6))
def test_any_split_gives_the_same_lines(data: bytes, cuts: list[int]) -> None:
    marks = sorted({min(c, len(data)) for c in cuts})
    chunks = [data[a:b] for a, b in zip([0, *marks], [*marks, len(data)], strict=True)]
    assert cut(*chunks) == cut(data)


@given(BYTES, st.integers(0, 300))
def test_a_restored_cutter_goes_on_where_it_was(data: bytes, at: int) -> None:
    first, second = LineCutter(16), LineCutter(16)
    before = first.feed(data[:at])
    codec.fill(second, json.loads(json.dumps(codec.dump(first))))
    assert second.feed(data[at:]) + second.flush() == cut(data, limit=16)[len(before) :]
    first.feed(data[at:])
    first.flush()
    assert (second.number, second.clipped) == (first.number, first.clipped)


@given(
    st.dictionaries(
        st.sampled_from(["number", "clipped", "partial", "dropping"]),
        st.none() | st.text() | st.integers(),
    )
)
def test_damaged_state_does_not_matter(state: dict[str, object]) -> None:
    cutter = codec.load_or_new(LineCutter, state)
    assert cutter.feed(b"x\ny\n")[-1][1] == b"y"


@given(st.text() | st.binary().map(lambda b: b.decode("utf-8", "surrogateescape")))
def test_plain_text_can_be_written_as_json_and_printed(text: str) -> None:
    shown = plain(text)
    assert len(shown) <= 400
    assert shown.isprintable()
    json.dumps(shown).encode()
    shown.encode("utf-8")
