"""``docs/one-night.md`` from its first command to its last, as typed, against a real sshd on this machine.

On a box of its own, where this machine can have one, and then not here: ``tests/system/test_one_night_on_a_bare_box.py``.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..fakes.box import Receiver
from ..fakes.far_bare_box import what_is_missing
from ..fakes.far_box import far_box
from ..fakes.one_night import Night, need_torch, play

pytestmark = [pytest.mark.system, pytest.mark.slow]


@pytest.fixture
def night() -> Iterator[Night]:
    need_torch()
    if not what_is_missing():
        pytest.skip("played on a bare box: tests/system/test_one_night_on_a_bare_box.py")
    variables = {
        "PATH": f"{Path(sys.base_prefix, 'bin')}:/usr/bin:/bin:/usr/sbin:/sbin",
        "PIP_INDEX_URL": "http://127.0.0.1:9",
        "PIP_CONFIG_FILE": os.devnull,
    }
    # A short name: the path of a socket has 107 bytes. On a disk: a copy in memory does not count.
    with (
        tempfile.TemporaryDirectory(prefix="mw-", dir="/var/tmp") as short,
        far_box(Path(short, "b"), variables) as far,
    ):
        try:
            yield Night(far, Path(short, "h"))
        finally:
            with contextlib.suppress(AssertionError):
                far.ssh("~/.middlewatch/bin/middlewatch stop")


def test_the_page_from_start_to_end(night: Night, receiver: Receiver) -> None:
    play(night, receiver)
