"""A connection over which nothing comes any more is noticed, whatever runs at its other end."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time

import pytest

from middlewatch.daemon.remote.connection import Box, BoxUnreachable

from ...fakes.far_box import NAME
from .conftest import PATIENCE_S, Far

pytestmark = [pytest.mark.system, pytest.mark.slow]
LONG_S = 3600


def test_a_box_that_falls_silent_is_told(far: Far, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in far.box.env().items():
        monkeypatch.setenv(name, value)
    begun = far.work / "begun"
    far.work.mkdir()
    told: list[BoxUnreachable] = []

    def ask() -> None:
        try:
            Box(NAME).run(f"touch {begun}; exec sleep {LONG_S}", tries=1)
        except BoxUnreachable as error:
            told.append(error)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    deadline = time.monotonic() + PATIENCE_S
    while not begun.exists():
        assert time.monotonic() < deadline, "it never began"
        time.sleep(0.05)
    frozen = far.box.freeze()
    try:
        asking.join(PATIENCE_S)
    finally:
        for pid in frozen:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGCONT)
    assert [str(one).startswith(f"{NAME} is not reached: ") for one in told] == [True]


def test_nothing_is_tried_again_where_nobody_lets_us_in(
    far: Far, monkeypatch: pytest.MonkeyPatch
) -> None:
    (far.box.root / "authorized_keys").write_text("")
    for name, value in far.box.env().items():
        monkeypatch.setenv(name, value)
    with pytest.raises(BoxUnreachable, match="Permission denied"):
        Box(NAME).run("true")
    refused, log = "Connection closed by authenticating user", far.box.root / "sshd.log"
    deadline = time.monotonic() + PATIENCE_S
    while refused not in log.read_text():  # sshd writes it after ssh has gone
        assert time.monotonic() < deadline, "sshd saw nobody"
        time.sleep(0.05)
    assert log.read_text().count(refused) == 1
