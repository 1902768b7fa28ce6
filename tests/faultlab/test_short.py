"""A short cut of the laboratory: rows that need neither long silences nor torch."""

from __future__ import annotations

import pytest

from .catalogue import FAULTS
from .judge import judge
from .runner import Task, run
from .watchers import Middlewatch

SHORT = {"segfault", "exit_0_early", "cuda_out_of_memory", "log_truncated", "xid_79"}
ROWS = {fault.name: fault for fault in FAULTS}


def test_every_row_has_its_own_name_and_number() -> None:
    assert len(ROWS) == len({fault.number for fault in FAULTS}) == len(FAULTS)


def test_every_row_says_what_it_expects() -> None:
    for fault in FAULTS:
        if fault.kind == "control":
            assert not fault.classes
            assert fault.length_s > 0
        else:
            assert fault.classes
            assert fault.cause
            assert fault.remedy


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SHORT))
def test_row(name: str) -> None:
    outcome = run(Task(ROWS[name], "middlewatch", Middlewatch, repeat=0, seed=1))
    if outcome.state == "not run":
        pytest.skip(outcome.reason)
    assert outcome.state == "judged", outcome.reason
    judged = judge(outcome)
    told = [(a.at - (outcome.injected or 0), a.severity, a.title) for a in outcome.alarms]
    assert judged.found, told
    assert judged.cause, told
    assert judged.remedy, told
    assert not judged.false_pages, told
