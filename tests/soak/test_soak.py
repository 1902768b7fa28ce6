"""Healthy runs stay quiet, and the watch over them is not deaf. The long form: scripts/soak."""

from __future__ import annotations

import pytest

from .__main__ import soak
from .runs import RUNS

HOURS = {"rare-log": 1.0}
"""It reports every ten minutes; of the others half an hour shows the reports that a rule needs."""


@pytest.mark.parametrize("name", [run.name for run in RUNS])
def test_a_healthy_run_pages_nobody_and_its_death_does(name: str) -> None:
    row = soak(name, hours=HOURS.get(name, 0.5), seed=11)
    assert row["pages"] == []
    assert row["steps"] >= 5
    assert row["heard_after_s"] is not None
