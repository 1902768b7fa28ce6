"""Receivers for pushes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from ...fakes.receiver import Receiver


@pytest.fixture
def receivers() -> Iterator[Callable[[], Receiver]]:
    """As many real receivers on loopback as a test wants."""
    made: list[Receiver] = []

    def make() -> Receiver:
        made.append(Receiver())
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def receiver(receivers: Callable[[], Receiver]) -> Receiver:
    return receivers()
