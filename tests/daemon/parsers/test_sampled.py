"""Long logs read by samples: nothing that happens is lost, and nothing that is told is made up."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from middlewatch.daemon.parsers import sampled
from middlewatch.daemon.parsers.numbers.plans import LinePlan
from middlewatch.daemon.parsers.reader import LogReader
from middlewatch.daemon.parsers.sampled import SampledReader
from middlewatch.sentinels.kit import Observation, Step

MEMORY = 3 << 20
BLOCK = 1 << 15
FULL, END = 500, 20_000


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits at which a log of some thousand lines is a long one."""
    _shorten(monkeypatch)


def _shorten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampled, "FULL", FULL)
    monkeypatch.setattr(sampled, "END_BYTES", END)


def log(
    reports: int,
    change: Callable[[int, float], float] = lambda step, loss: loss,
    between: Callable[[int], str] = lambda step: "",
) -> bytes:
    """A training with noise. ``change``: (step, its loss) -> the loss that is shown; ``between``: what stands
    before the report of a step."""
    chance = random.Random(7)
    lines = []
    for step in range(1, reports + 1):
        loss = change(step, 2.0 + 2.0 / (1 + step / 500) + chance.gauss(0.0, 0.05))
        lines.append(
            f"{between(step)}step {step}: loss {loss:.4f} lr 3.0e-04 {80 + step % 9}.5 ms/step\n"
        )
    return "".join(lines).encode()


def read(reader: LogReader, text: bytes) -> list[Observation]:
    """All that a reader tells of a log."""
    blocks = (text[at : at + BLOCK] for at in range(0, len(text), BLOCK))
    return [one for block in blocks for one in reader.feed(block, 0.0)] + reader.finish(0.0)


def both(text: bytes) -> tuple[list[Observation], list[Observation], SampledReader]:
    """(in full, by samples, the reader of samples)."""
    reader = SampledReader("x", shape_bytes=MEMORY)
    return read(LogReader("x", shape_bytes=MEMORY), text), read(reader, text), reader


def steps(seen: list[Observation]) -> Iterator[Step]:
    """The reports among observations."""
    return (one for one in seen if isinstance(one, Step))


def others(seen: list[Observation]) -> list[Observation]:
    """All but the reports."""
    return [one for one in seen if not isinstance(one, Step)]


def test_most_of_a_long_quiet_log_is_left_out_and_the_rest_is_true() -> None:
    whole, part, reader = both(log(20_000))
    told = [one.number for one in steps(part)]
    assert len(told) < 7000
    assert len(told) + reader.left_out == len(list(steps(whole))) == 20_000
    assert set(map(repr, part)) <= set(map(repr, whole)), (
        "a sample is what the full reading gives, to the line and the digit"
    )
    assert told == sorted(told, key=lambda number: number or 0)
    assert (told[:FULL], told[-200:]) == ([*range(1, FULL + 1)], [*range(19_801, 20_001)])
    assert (reader.lines, reader.bytes) == (20_000, len(log(20_000)))


def test_a_short_log_is_read_in_full() -> None:
    whole, part, reader = both(log(FULL))
    assert part == whole
    assert reader.left_out == 0


@pytest.mark.parametrize("at", [9000, 9001, 12_345])
@pytest.mark.parametrize("value", [55.0, 0.0, math.nan, math.inf])
def test_what_leaves_its_range_is_told_with_its_neighbours(at: int, value: float) -> None:
    text = log(20_000, lambda step, loss: value if step == at else loss)
    numbers = {one.number for one in steps(both(text)[1])}
    near = range(at - 40, at + 90)
    assert set(near) <= numbers


def test_a_level_that_stays_is_told_and_then_sampled_again() -> None:
    text = log(30_000, lambda step, loss: loss + (9.0 if step >= 12_000 else 0.0))
    part = list(steps(both(text)[1]))
    assert {float(n) for n in range(11_990, 12_180)} <= {one.number for one in part}
    assert sum(15_000 < (one.number or 0) < 20_000 for one in part) < 1500


def test_lines_that_are_no_reports_are_all_read() -> None:
    def between(step: int) -> str:
        if step == 9_500:
            return 'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    x()\nOSError: [Errno 28] No space left on device\n'
        if step % 700 == 0:
            return f"saved checkpoint to out/step_{step}.pt\n"
        return f"eval step {step}: val_loss 2.31\n" if step % 900 == 0 else ""

    whole, part, _ = both(log(20_000, between=between))
    assert others(part) == others(whole)
    evaluations = [one for one in steps(whole) if "eval_loss" in one.values]
    assert [one for one in steps(part) if "eval_loss" in one.values] == evaluations
    near = {one.number for one in steps(part)}
    assert set(range(9_450, 9_550)) <= near


def test_reports_of_many_ranks_in_one_log_are_all_read() -> None:
    lines = [f"[rank{n % 4}]: step {n // 4}: loss 2.{n % 97:02}1 lr 1.0e-4\n" for n in range(9000)]
    whole, part, _ = both("".join(lines).encode())
    assert part == whole


@settings(max_examples=30)
@given(
    st.lists(
        st.sampled_from(
            [
                "WARNING: NCCL timeout in allreduce, will retry",
                "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
                "saved checkpoint to out/step_7.pt",
                "loading shard 17 of 80",
                "Training complete",
                "eval step 12: val_loss nan",
                "",
                "\t  ",
                "no report here",
                "step 3: loss nan lr 3.0e-04 80.5 ms/step",
            ]
        ).flatmap(lambda line: st.tuples(st.integers(1, 3000), st.just(line))),
        max_size=12,
    ),
    st.integers(900, 20_000),
)
def test_events_saves_and_phases_are_those_of_a_full_reading(
    placed: list[tuple[int, str]], block: int
) -> None:
    lines = log(3000).decode().splitlines()
    for at, line in sorted(placed, reverse=True):
        lines.insert(at, line)
    text = ("\n".join(lines) + "\n").encode()
    with pytest.MonkeyPatch.context() as patch:
        _shorten(patch)
        whole, reader = LogReader("x", shape_bytes=MEMORY), SampledReader("x", shape_bytes=MEMORY)
        seen: list[list[Observation]] = [[], []]
        for at in range(0, len(text), block):
            for mine, one in zip(seen, (whole, reader), strict=True):
                mine += one.feed(text[at : at + block], 0.0)
        for mine, one in zip(seen, (whole, reader), strict=True):
            mine += one.finish(0.0)
    assert others(seen[1]) == others(seen[0])
    strange, told = (
        [repr(one) for one in steps(seen[i]) if not math.isfinite(sum(one.values.values()))]
        for i in (0, 1)
    )
    assert told == strange
    assert reader.tail == whole.tail
    assert reader.lines == whole.lines


def test_a_save_has_the_step_of_the_report_before_it() -> None:
    """Also where that report is the last one of a block that was read in bulk."""

    def between(step: int) -> str:
        return "saved checkpoint to out/last.pt\n" if step % 97 == 0 else ""

    text = log(12_000, between=between)
    reader = SampledReader("x", shape_bytes=MEMORY)
    seen = [
        one for at in range(0, len(text), 3001) for one in reader.feed(text[at : at + 3001], 0.0)
    ]
    seen += reader.finish(0.0)
    told = {one.number for one in steps(seen)}
    assert {float(step - 1) for step in range(97, 12_000, 97)} <= told
    assert len(told) == len(list(steps(seen)))
    assert len(told) + reader.left_out == 12_000


def test_a_loss_that_is_nan_for_ever_is_sampled_as_well() -> None:
    text = log(20_000, lambda step, loss: math.nan if step >= 3000 else loss)
    _, part, reader = both(text)
    told = [one.number for one in steps(part)]
    assert set(range(2_960, 3_400)) <= set(told)
    assert len(told) < 7000
    assert len(told) + reader.left_out == 20_000


def test_the_forms_that_are_known_stay_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampled, "FORMS", 5)
    monkeypatch.setattr(sampled, "FULL", 10)
    lines = (
        f"run_{'abcdefghijkl'[n % 12]} step {n}: loss 2.{n % 97:02}1 lr 1.0e-4\n"
        for n in range(9000)
    )
    whole, part, reader = both("".join(lines).encode())
    assert len(list(steps(part))) + reader.left_out == len(list(steps(whole))) == 9000
    assert 0 < len(reader._forms) <= 5


def test_numbers_that_stand_alike_are_not_mistaken_for_each_other() -> None:
    """The loss stands between blanks, as the number before it does, and one match takes the blank of the next."""
    plan = LinePlan(4, [("train_loss", 2, 1.0, "plain")], example=b"7 1.25 3.75 9")
    form = sampled._Form(plan)
    lines = [f"{n} 1.25 {99.0 if n == 70 else 3.75} 9" for n in range(10, 110)]
    text = "\n".join(lines).encode()
    assert list(form.outside(text.replace(b"99.0", b"3.75"), 100) or ()) == list(range(100))
    assert form.outside(text, 100) == [60]
