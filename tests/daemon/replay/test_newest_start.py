"""Logs to which several starts of one job were appended: the newest one is judged."""

from __future__ import annotations

import pytest

from middlewatch.daemon.replay.newest_start import newest_start
from middlewatch.daemon.replay.one_log import Replay, ReplayRules

from .test_endings import SENTINELS, ending, hf

OPENING = "Loaded module: python3/3.11.2\nLoaded dependency [cudnn/8.9]: cuda/12.1\nnode gpu04\n"


def raised(error: str, script: str = "train.py") -> str:
    return (
        "Traceback (most recent call last):\n"
        f'  File "{script}", line 31, in <module>\n    main()\n'
        f'  File "{script}", line 20, in main\n    for batch in loader:\n{error}\n'
    )


def fatal(log: str) -> list[tuple[int, bool]]:
    """(line, whether it is fatal) of the findings in a log."""
    replay = Replay("a.log", ReplayRules(SENTINELS, {}, print))
    said = replay.read([log.encode()], metrics=False)
    return [(r["line"], r["fatal"]) for r in said if r["type"] == "finding"]


def test_a_start_of_which_only_the_beginning_is_there_has_not_failed() -> None:
    told = ending(OPENING + raised("KeyError: 'image'") + OPENING)
    assert (told["verdict"], told["cause"]) == ("cut", None)


def test_of_several_failed_starts_the_newest_counts() -> None:
    log = (
        OPENING
        + raised("KeyError: 'image'")
        + OPENING
        + raised("RuntimeError: CUDA out of memory.")
    )
    told = ending(log)
    assert (told["verdict"], told["cause"]) == ("failed", "cuda_oom")


def test_an_earlier_start_s_good_end_is_not_the_newest_one_s() -> None:
    done = hf(10, 300) + "Training completed\n"
    first = OPENING + done + OPENING + raised("KeyError: 'image'") + OPENING
    assert ending(first)["verdict"] == "cut"


def test_ranks_that_say_the_same_are_one_start() -> None:
    log = OPENING * 4 + hf(10, 100) + raised("KeyError: 'image'")
    told = ending(log)
    assert (told["verdict"], told["cause"]) == ("failed", "python_exception")
    # what a launcher repeats far below an error is no new start
    far = OPENING + raised("KeyError: 'image'") + "clean up\n" * 20 + OPENING
    assert ending(far)["verdict"] == "failed"


@pytest.mark.parametrize(
    ("opening", "again"),
    [
        (OPENING, 40),
        ("----\n----\n", 0),  # a ruler says nothing
        ("one line alone of a job\n", 0),
        ("1 2\n3 4\n", 0),
    ],
)
def test_the_newest_place_of_the_opening(opening: str, again: int) -> None:
    tail = [(39, "KeyError: 'x'"), *enumerate(opening.splitlines(), 40)]
    assert newest_start(opening.encode(), tail) == again


def test_two_exceptions_through_the_top_of_one_script_are_two_starts() -> None:
    between = "Starting the job again\nLoading the data\nBuilding the model\nReady\n"
    log = raised("KeyError: 'image'") + between + raised("ValueError: too many values to unpack")
    assert fatal(log) == [(6, False), (16, True)]
    # the ranks of one start write theirs one below the other
    ranks = raised("KeyError: 'image'") + raised("ValueError: too many values to unpack")
    assert fatal(ranks) == [(6, True)]
