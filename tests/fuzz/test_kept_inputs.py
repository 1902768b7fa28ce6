"""What fuzzing once found is still taken: every kept input, and the ones that it began with."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .targets import HERE, TARGETS, Opened

SLOWEST_S = 2.0
"""CPU seconds of one input: the limit of the search itself. They take milliseconds."""


@pytest.fixture(params=sorted(TARGETS))
def opened(request: pytest.FixtureRequest) -> Iterator[tuple[str, Opened]]:
    one = Opened(request.param)
    yield request.param, one
    one.close()


def kept(name: str) -> list[Path]:
    folder = HERE / "kept" / name
    return sorted(folder.iterdir()) if folder.is_dir() else []


def test_kept_inputs_do_no_harm(opened: tuple[str, Opened]) -> None:
    name, target = opened
    for path in kept(name):
        begun = time.process_time()
        target.read(path.read_bytes())
        assert time.process_time() - begun < SLOWEST_S, path.name


def test_seeds_are_inputs_that_are_taken(opened: tuple[str, Opened]) -> None:
    name, target = opened
    seeds = list(TARGETS[name].seeds())
    assert len(seeds) > 3
    for seed in seeds:
        target.read(seed)


def test_every_folder_of_kept_inputs_has_its_target() -> None:
    assert {path.name for path in (HERE / "kept").iterdir()} <= set(TARGETS)
