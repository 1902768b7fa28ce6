"""No false alarm: checkpoints that the real libraries wrote are ok at every level."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from middlewatch.daemon.checkpoints.verify import levels

from .goods import GOODS, WANTS, Good, found, made


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.getbasetemp()


def test_there_are_enough() -> None:
    assert len(GOODS) >= 40
    assert len({good.format for good in GOODS}) >= 7


@pytest.mark.parametrize("good", GOODS, ids=lambda good: f"{good.maker}:{good.path}")
def test_a_good_one_is_ok(good: Good, base: Path) -> None:
    path = str(found(good, base))
    for level in ("structure", "checksum", "finite"):
        entry = levels.describe(path, level)
        assert entry["state"] == "ok", f"{level}: {entry['detail']}"
        assert (entry["format"], entry["step"], entry["epoch"]) == (
            good.format,
            good.step,
            good.epoch,
        )
    assert entry["level"] == good.level
    assert re.fullmatch(good.detail, entry["detail"]), entry["detail"]


@pytest.mark.parametrize("maker", WANTS)
def test_all_that_lies_there_is_found_and_ok(maker: str, base: Path) -> None:
    entries = levels.verify([str(made(maker, base))], "finite")
    told = {entry["path"]: (entry["state"], entry["detail"]) for entry in entries}
    wrong = {path: state for path, state in told.items() if state[0] != "ok"}
    assert not wrong
    missed = {str(found(good, base)) for good in GOODS if good.maker == maker} - told.keys()
    assert not missed
