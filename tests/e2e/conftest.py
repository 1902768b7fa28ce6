"""A box for end-to-end tests: the real daemon, real processes, a real HTTP receiver."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ..fakes.box import Box, Receiver

PROGRAMS = Path(__file__).with_name("programs")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


@pytest.fixture
def box(tmp_path: Path, receiver: Receiver) -> Iterator[Box]:
    """A box with a daemon to be; ``configure`` before the first command if at all."""
    made = Box(tmp_path, receiver)
    made.configure("")
    yield made
    made.close()


@pytest.fixture
def program() -> Callable[[str], list[str]]:
    """Command line of one of our little training programs."""
    return lambda name: [sys.executable, str(PROGRAMS / f"{name}.py")]
