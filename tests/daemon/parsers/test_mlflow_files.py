"""Metrics in the file store of MLflow. The lines are those that its client (2.22) wrote."""

from __future__ import annotations

import math
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.parsers.metric_readers import MetricFileReader, live_reader
from middlewatch.daemon.parsers.mlflow_files import LINE_BYTES, MlflowText, is_mlflow_metric
from middlewatch.sentinels.kit import Step

FILE = "mlruns/817599660379240477/5badaa88277e402aa2f7d21594fa69ce/metrics/val/loss"
DATA = b"1795686954798 1.0 0\n1795686954799 0.3333333333333333 2\n1795686954805 nan 4\n"


def lines_of(data: bytes, *cuts: int) -> list[str]:
    text, places = MlflowText(FILE), [0, *sorted(cuts), len(data)]
    return b"".join(text.feed(data[a:b]) for a, b in pairwise(places)).decode().splitlines()


def test_a_value_is_a_line() -> None:
    assert lines_of(DATA) == [
        "step=0 val/loss=1.0",
        "step=2 val/loss=0.3333333333333333",
        "step=4 val/loss=nan",
    ]


@given(st.lists(st.integers(0, len(DATA)), max_size=8))
def test_it_may_arrive_in_any_pieces(cuts: list[int]) -> None:
    assert lines_of(DATA, *cuts) == lines_of(DATA)


@given(st.binary(max_size=4 * LINE_BYTES))
def test_anything_else_is_damage_at_most(data: bytes) -> None:
    text = MlflowText(FILE)
    text.feed(data)
    assert len(text.held) <= LINE_BYTES


def test_nothing_is_read_after_damage() -> None:
    text = MlflowText(FILE)
    assert text.feed(b"1795686954798 1.0 0\nmeta: x\n") == b"step=0 val/loss=1.0\n"
    assert text.damaged
    assert text.feed(DATA) == b""


def test_only_the_place_in_the_store_tells_it() -> None:
    assert is_mlflow_metric(f"/data/{FILE}")
    assert not is_mlflow_metric("/data/run/metrics/val/loss")
    assert live_reader(f"/data/{FILE}") is MetricFileReader


def test_a_live_reader() -> None:
    reader = MetricFileReader(f"/data/{FILE}")
    said = [one for one in reader.feed(DATA, 1.0) if isinstance(one, Step)]
    assert [one.number for one in said] == [0, 2, 4]
    assert math.isnan(said[-1].values["eval_loss"])
