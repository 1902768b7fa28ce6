"""Reports whose words nobody knows."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pytest

from middlewatch.daemon.parsers.recurring import LiveReader
from middlewatch.sentinels.kit import Step


def steps(lines: Iterable[str]) -> list[Step]:
    reader, found = LiveReader("run.log"), []
    for now, line in enumerate(lines):
        found += [o for o in reader.feed(f"{line}\n".encode(), float(now)) if isinstance(o, Step)]
    return found


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("2026-11-25 20:26:{0:02d} | ronda {0:4d}  rmse del lote {1:.4f}", "rmse del lote"),
        ("rollout {0:3d} | ts {2:6d} | ep_rew_mean {1:8.3f} | {1:.1f} fps", "ep_rew_mean"),
        ("ronde {0} | afstand {1:.3f}", "afstand"),
    ],
)
def test_a_counter_counts_whatever_it_is_called(form: str, name: str) -> None:
    found = steps(form.format(n, 3 / n, n * 80) for n in range(1, 8))
    assert [step.number for step in found] == [4.0, 5.0, 6.0, 7.0]
    assert name in found[-1].values
    assert [step.line for step in found] == [4, 5, 6, 7]


def test_it_goes_on_when_the_counter_begins_again() -> None:
    found = steps(f"ronda {n % 5}  rmse {3 / (n + 1):.4f}" for n in range(10))
    assert [step.number for step in found][:4] == [3.0, 4.0, 0.0, 1.0]


@pytest.mark.parametrize(
    "form",
    [
        "12:30:{0:02d} wrote {2} bytes in {1:.2f} s",  # no even steps
        "host 4 load {1:.2f}",
        "ronda {0} de {2}",  # nothing beside it that is measured
        "temperature 61.5 of gpu {0}",  # the measure stands still
    ],
)
def test_other_numbers_are_none(form: str) -> None:
    assert steps(form.format(n, 3 / n, n * n * 7) for n in range(1, 12)) == []


def test_words_that_are_known_say_more() -> None:
    lines = [f"step {n} loss {3 / n:.3f}" for n in range(1, 3)]
    lines += [f"gpu temp {n} clock {3 / n:.3f}" for n in range(1, 9)]
    assert [step.number for step in steps(lines)] == [1.0, 2.0]


def test_pieces_of_a_line() -> None:
    reader = LiveReader("run.log")
    found = []
    for n in range(1, 8):
        for piece in (f"ronda {n}  rm", f"se {3 / n:.3f}\n"):
            found += reader.feed(piece.encode(), float(n))
    assert [one.number for one in found if isinstance(one, Step)] == [4.0, 5.0, 6.0, 7.0]


def test_numbers_that_become_none() -> None:
    good = [
        f"epoch {n:3d}  chi2/n {3 / n:.4f}  |grad| {1 / n:.2f}  sum(amp) {n + 0.5}"
        for n in range(1, 6)
    ]
    bad = ["epoch   6  chi2/n nan  |grad| nan  sum(amp) -inf"]
    *_, before, last = steps(good + bad)
    assert before.values == {"chi2/n": 0.6, "grad_norm": 0.2, "amp": 5.5}
    assert before.text == ""
    assert last.number == 6.0
    assert math.isnan(last.values["chi2/n"])
    assert last.values["amp"] == -math.inf
    assert last.text.startswith("epoch   6  chi2/n nan")
