"""Event files of TensorBoard, read as lines of text. The file is one that torch's SummaryWriter wrote."""

from __future__ import annotations

import struct
from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.parsers.event_files import EventText, holds_events, is_event_file
from middlewatch.daemon.parsers.metric_readers import MetricFileReader, live_reader
from middlewatch.daemon.parsers.recurring import LiveReader
from middlewatch.sentinels.kit import Step

FILE = Path(__file__).parents[2] / "logs" / "events.out.tfevents.scalars"
DATA = FILE.read_bytes()


def lines_of(data: bytes, *cuts: int) -> list[str]:
    text, places = EventText(), [0, *sorted(cuts), len(data)]
    pieces = [data[a:b] for a, b in pairwise(places)]
    return b"".join(map(text.feed, pieces)).decode().splitlines()


def values_of(lines: list[str]) -> list[str]:
    return [word for line in lines for word in line.split()[line.startswith("step=") :]]


def test_the_values_of_a_step_are_one_line() -> None:
    lines = lines_of(DATA)
    assert lines[:2] == [
        "step=0 Loss/train=3 learning_rate=0.001",
        "step=10 Loss/train=2.95 learning_rate=0.001",
    ]
    assert lines[4:6] == [
        "step=30 Loss/train=2.85 learning_rate=0.001",
        "step=40 Loss/train=nan learning_rate=0.001",
    ]


def test_an_evaluation_that_counts_epochs_sets_no_step_back() -> None:
    assert "Loss/val=2.333333" in lines_of(DATA)


def test_text_and_histograms_are_skipped() -> None:
    assert {v.partition("=")[0] for v in values_of(lines_of(DATA))} == {
        "Loss/train",
        "Loss/val",
        "learning_rate",
    }


@given(st.lists(st.integers(0, len(DATA)), max_size=8))
def test_it_may_arrive_in_any_pieces(cuts: list[int]) -> None:
    assert values_of(lines_of(DATA, *cuts)) == values_of(lines_of(DATA))


@given(st.integers(0, len(DATA) - 1), st.binary(max_size=40))
def test_damage_is_noted_and_never_raises(at: int, other: bytes) -> None:
    text = EventText()
    text.feed(DATA[:at] + other + DATA[at + len(other) :])
    assert len(text.held) <= len(DATA)


def test_a_wrong_length_ends_the_reading() -> None:
    text = EventText()
    text.feed(struct.pack("<QI", 24, 7) + bytes(40))
    assert text.damaged
    assert (text.feed(DATA), text.held) == (b"", b"")


def test_a_large_record_is_not_kept() -> None:
    head = DATA[:12]
    size = struct.unpack("<Q", head[:8])[0]
    text = EventText()
    text.skip = 5 << 20
    text.feed(bytes(5 << 20))
    assert (text.skip, text.held) == (0, b"")
    assert values_of(lines_of(head + bytes(size) + bytes(4) + DATA)) == values_of(lines_of(DATA))


def test_the_reader_goes_on_after_a_restart() -> None:
    whole, first = MetricFileReader("f"), MetricFileReader("f")
    seen = [*first.feed(DATA[:500], 1.0)]
    second = MetricFileReader.restore("f", first.save())
    seen += [*second.feed(DATA[500:], 2.0), *second.finish(2.0)]
    losses = [one.loss for one in seen if isinstance(one, Step) and one.loss is not None]
    assert [f"{x:.2f}" for x in losses] == ["3.00", "2.95", "2.90", "2.85", "nan", "nan"]
    assert [one.loss for one in whole.feed(DATA, 1.0) if isinstance(one, Step)][:1] == [3.0]


def test_which_files_are_read_so() -> None:
    assert is_event_file("/r/events.out.tfevents.1700.host.7.0")
    assert not is_event_file("/r/x.tfevents.d/train.log")
    assert live_reader("/r/events.out.tfevents.1.h") is MetricFileReader
    assert live_reader("/r/train.log") is LiveReader
    assert holds_events(DATA[:512])
    assert not holds_events(b"step 1 brain.Event:2")
