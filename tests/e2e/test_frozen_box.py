"""The whole daemon falls silent, and a service on loopback tells it."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.system import procfs

from ..fakes.box import Box
from ..fakes.healthchecks import Healthchecks

Program = Callable[[str], list[str]]
EVERY_S, GRACE_S = 10.0, 10.0


@pytest.fixture
def service() -> Iterator[Healthchecks]:
    made = Healthchecks(EVERY_S, GRACE_S)
    yield made
    made.close()


def tree(pid: int) -> list[int]:
    """A process and all that came from it."""
    found = [pid]
    for one in found:
        for task in Path(f"/proc/{one}/task").iterdir():
            found += map(int, (task / "children").read_text().split())
    return found


@pytest.mark.slow
def test_a_frozen_box_is_told_within_the_grace_and_what_was_missed_on_its_return(
    box: Box, program: Program, service: Healthchecks
) -> None:
    os.chmod(box.root, 0o700)
    box.configure(
        f'[heartbeat]\nurl = "{service.url}"\nevery_s = "{EVERY_S:.0f}s"\ngrace_s = "{GRACE_S:.0f}s"\n'
    )
    os.chmod(box.root / "config.toml", 0o600)
    box.run(*program("trainer"), "fine", "--steps", "100000", "--sleep", "0.1", name="fine")
    box.until(lambda: service.state == "up", "the first success")
    assert service.signals[0] == "start"
    tested = json.loads(box.command("alert", "test", "--json").stdout)
    assert tested[-1] == {"url": "heartbeat", "ok": True, "error": ""}
    page = box.command("status", check=False).stdout
    assert "Heartbeat: last ping accepted at" in page
    doctor = json.loads(box.command("doctor", "--json", check=False).stdout)
    (check,) = (one for one in doctor["checks"] if one["what"] == "heartbeat")
    assert check["state"] == "ok"
    frozen = tree(box.ask("ping")["pid"])
    began = time.monotonic()
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)
    try:
        # The service tells it by its own clock: period and grace after the last ping.
        last = service.pings[-1].at
        while service.state == "up":
            assert time.monotonic() - last <= EVERY_S + GRACE_S + 1.0
            time.sleep(0.1)
        assert service.state == "down"
        assert service.pings[-1].at <= began + 1.0
    finally:
        for pid in reversed(frozen):
            os.kill(pid, signal.SIGCONT)
    box.until(lambda: service.state == "up", "the return")
    assert "fail" not in service.signals
    back: Any = box.push(lambda p: p.title.startswith("[BACK]"), "what was missed")
    assert "the daemon stood still for" in back.body
    assert "fine-" in back.body
    assert procfs.stat(frozen[0]) is not None
    assert service.url.rsplit("/", 1)[1] not in box.log()
    shown = box.command("config", "show").stdout
    assert service.url not in shown
