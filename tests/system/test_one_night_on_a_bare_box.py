"""``docs/one-night.md`` as typed, against a box with Python, sshd and rsync, no network and no root."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..fakes.box import Receiver
from ..fakes.far_bare_box import FarBareBox, far_bare_box
from ..fakes.one_night import Night, need_torch, play

pytestmark = [pytest.mark.system, pytest.mark.slow]


@pytest.fixture
def far() -> Iterator[FarBareBox]:
    need_torch()
    # A short name: the path of a socket has 107 bytes. On a disk: a copy in memory does not count.
    with (
        tempfile.TemporaryDirectory(prefix="mw-", dir="/var/tmp") as short,
        far_bare_box(Path(short, "b")) as box,
    ):
        yield box


def test_one_night_on_a_bare_box(far: FarBareBox) -> None:
    assert far.ssh("id -u; ls /sys/class/net").stdout.split() == ["1000", "lo"]
    receiver = far.in_network(Receiver)
    try:
        deployed_s = play(Night(far, far.root.parent / "h"), receiver)
    finally:
        receiver.close()
    print(f"deploy: {deployed_s:.0f} s")
