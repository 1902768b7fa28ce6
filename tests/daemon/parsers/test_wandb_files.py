"""Files of Weights & Biases, read as lines of text. The records are those that its client (0.31) wrote."""

from __future__ import annotations

import struct
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.parsers import wandb_files
from middlewatch.daemon.parsers.metric_readers import MetricFileReader, live_reader
from middlewatch.daemon.parsers.wandb_files import BLOCK_BYTES, HEAD_BYTES, WandbText, holds_wandb
from middlewatch.sentinels.kit import Step

FILE = Path(__file__).parents[2] / "logs" / "run-history.wandb"
DATA = FILE.read_bytes()


def lines_of(data: bytes, *cuts: int) -> list[str]:
    text, places = WandbText(), [0, *sorted(cuts), len(data)]
    return b"".join(text.feed(data[a:b]) for a, b in pairwise(places)).decode().splitlines()


def records(data: bytes) -> list[bytes]:
    found, at = [], HEAD_BYTES
    while at < len(data):
        _, size, _ = struct.unpack("<IHB", data[at : at + HEAD_BYTES])
        found.append(data[at + HEAD_BYTES : at + HEAD_BYTES + size])
        at += HEAD_BYTES + size
    return found


def test_a_report_is_a_line() -> None:
    lines = lines_of(DATA)
    assert len(lines) == 33
    assert set(lines[0].split()) == {
        "step=0",
        "train/loss=3",
        "lr=0.001",
        "epoch=0",
        "nested/a/b=0",
    }
    assert "val/loss=1.533333" in lines[-1].split() or "val/loss=1.533333" in lines[-2].split()
    assert sum("train/loss=nan" in line for line in lines) == 5


@given(st.lists(st.integers(0, len(DATA)), max_size=8))
def test_it_may_arrive_in_any_pieces(cuts: list[int]) -> None:
    assert lines_of(DATA, *cuts) == lines_of(DATA)


def test_records_over_several_blocks() -> None:
    """As LevelDB cuts them: what fits into the block, then the rest; short ends of blocks are filled."""
    data = DATA[:HEAD_BYTES]
    for record in records(DATA) * 40:
        first = True
        while first or record:
            left = BLOCK_BYTES - len(data) % BLOCK_BYTES
            if left < HEAD_BYTES:
                data += bytes(left)
                continue
            piece, record = record[: left - HEAD_BYTES], record[left - HEAD_BYTES :]
            kind = (1 if first else 4) if not record else (2 if first else 3)
            data += struct.pack("<IHB", 0, len(piece), kind) + piece
            first = False
    assert len(data) > 2 * BLOCK_BYTES
    assert lines_of(data) == lines_of(DATA) * 40


@given(st.integers(0, len(DATA) - 1), st.binary(max_size=40))
def test_damage_never_raises(at: int, other: bytes) -> None:
    text = WandbText()
    text.feed(DATA[:at] + other + DATA[at + len(other) :])
    assert len(text.held) <= len(DATA)


@pytest.mark.parametrize("record", [b"\x10\x05", b"\x12\x02\x08\x05"])
def test_an_integer_where_a_message_belongs_is_left_out(record: bytes) -> None:
    assert wandb_files._line(record) == []


def test_what_is_none_is_damaged() -> None:
    text = WandbText()
    text.feed(bytes(64))
    assert text.damaged
    assert (text.feed(DATA), text.held) == (b"", b"")
    assert not holds_wandb(b"step 1")


def test_the_reader_goes_on_after_a_restart() -> None:
    first = MetricFileReader("run-1.wandb")
    seen = [*first.feed(DATA[:800], 1.0)]
    second = MetricFileReader.restore("run-1.wandb", first.save())
    seen += [*second.feed(DATA[800:], 2.0), *second.finish(2.0)]
    losses = [one.loss for one in seen if isinstance(one, Step) and one.loss is not None]
    assert len(losses) == 30
    assert live_reader("/r/wandb/run-1/run-1.wandb") is MetricFileReader
