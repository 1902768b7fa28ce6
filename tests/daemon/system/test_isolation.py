from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.system.bounded import Overrun
from middlewatch.daemon.system.isolation import (
    FAILURES,
    FIRST_PAUSE_S,
    LONGEST_PAUSE_S,
    Isolation,
)


def raised(error: Exception) -> Exception:
    """The error as it comes from a place in the code."""
    try:
        raise error
    except Exception as caught:  # noqa: BLE001
        return caught


class Bench:
    def __init__(self) -> None:
        self.log: list[str] = []
        self.isolation = Isolation(self.log.append)
        self.now = 1000.0

    def fail(self, name: str = "a", error: Exception | None = None) -> None:
        self.isolation.failed("rule", name, raised(error or KeyError("x")), self.now)

    def out(self, name: str = "a") -> bool:
        return self.isolation.left_out("rule", name, self.now)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_part_that_works_is_not_known(bench: Bench) -> None:
    bench.isolation.worked("rule", "a", 0.0)
    assert bench.isolation.get("rule", "a") is None
    assert list(bench.isolation) == []


def test_it_is_left_out_after_some_failures_in_a_row_and_alone(bench: Bench) -> None:
    for _ in range(FAILURES - 1):
        bench.fail()
        assert not bench.out()
    bench.fail()
    assert bench.out()
    assert not bench.out("b")
    assert [part.name for part in bench.isolation.broken()] == ["a"]


def test_one_that_computes_for_ever_is_left_out_at_once(bench: Bench) -> None:
    bench.fail(error=Overrun("it did not end"))
    assert bench.out()


def test_pauses_grow_up_to_an_hour(bench: Bench) -> None:
    bench.fail(error=Overrun(""))
    pauses = []
    for _ in range(12):
        part = bench.isolation.get("rule", "a")
        assert part is not None
        assert part.tried_again_at is not None
        pauses.append(part.tried_again_at - bench.now)
        bench.now = part.tried_again_at - 0.1
        assert bench.out()
        bench.now = part.tried_again_at
        assert not bench.out(), "it is tried again"
        bench.fail()
    assert pauses[:3] == [FIRST_PAUSE_S, 2 * FIRST_PAUSE_S, 4 * FIRST_PAUSE_S]
    assert pauses[-1] == LONGEST_PAUSE_S


def test_one_success_begins_anew(bench: Bench) -> None:
    bench.fail(error=Overrun(""))
    bench.now += FIRST_PAUSE_S
    bench.isolation.worked("rule", "a", bench.now)
    bench.fail()
    assert not bench.out()
    part = bench.isolation.get("rule", "a")
    assert part is not None
    assert (part.failures, part.in_row, part.worked_at) == (2, 1, None)


def test_a_clock_that_was_set_back_ends_the_pause(bench: Bench) -> None:
    bench.fail(error=Overrun(""))
    bench.now -= 86400.0
    assert not bench.out()


def test_each_error_of_a_part_is_told_once(bench: Bench) -> None:
    for _ in range(5):
        bench.fail()
    bench.fail(error=ValueError("another"))
    bench.fail("b")
    assert [text.splitlines()[0] for text in bench.log] == [
        "rule a failed:",
        "rule a failed:",
        "rule b failed:",
    ]
    assert "KeyError: 'x'" in bench.log[0]


@given(st.lists(st.tuples(st.sampled_from(["fail", "overrun", "work"]), st.floats(0.0, 7200.0))))
def test_it_is_out_only_after_failures_and_never_for_longer_than_an_hour(
    acts: list[tuple[str, float]],
) -> None:
    bench = Bench()
    in_row = 0
    for act, later_s in acts:
        bench.now += later_s
        if bench.out():
            part = bench.isolation.get("rule", "a")
            assert part is not None
            assert in_row >= FAILURES
            assert bench.now - part.failed_at < LONGEST_PAUSE_S
            continue  # it is not asked
        if act == "work":
            bench.isolation.worked("rule", "a", bench.now)
            in_row = 0
        else:
            bench.fail(error=Overrun("") if act == "overrun" else None)
            in_row += FAILURES if act == "overrun" else 1
        assert bench.out() == (in_row >= FAILURES)
