"""Lists of years on the control socket of a real daemon: whole, in their order, and nobody waits."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
import time
from typing import Any

from middlewatch.daemon.client import PAGE_ROWS
from middlewatch.daemon.judge.incidents import Incident
from middlewatch.daemon.report.messages import Message
from middlewatch.daemon.report.outbox import Queued
from middlewatch.daemon.system import jsonlines
from middlewatch.daemon.system.store import Store
from middlewatch.sentinels.kit import Evidence, Severity

from ..fakes.box import COMMAND

COUNT = 3000


def lay_down(box: Any) -> list[str]:
    """Incidents of a day, and a push about each, in the store of a daemon that is not there yet."""
    box.state.mkdir(mode=0o700)
    store = Store(box.state / "middlewatch.sqlite", box.state / "reserve")
    began = time.time() - 86400.0
    for n in range(COUNT):
        at = began + n
        one = Incident(
            id=f"{n * 7919 % COUNT:06x}",  # ids are no order
            run="gone-1",
            trouble="loss_spike",
            sentinel="loss_spike",
            key=str(n),
            severity=Severity.WARNING,
            state="resolved",
            opened_at=at,
            last_seen_at=at,
            summary=f"the loss jumped at step {n}",
            evidence=[Evidence("log", "step 1 loss 12.4 lr 3e-4 grad_norm 12", at)] * 5,
            resolved_at=at + 60.0,
        )
        store.put("incident", one.id, one.to_json(), at)
        push = Queued(one.id, Message("a spike", "x" * 500, "warning"), at, "sent", sent_at=at)
        store.put("message", push.id, push.to_json(), at)
    store.close()
    return [f"{n * 7919 % COUNT:06x}" for n in range(COUNT)]


def test_a_day_of_incidents(box: Any) -> None:
    ids = lay_down(box)
    box.command("start")
    assert [one["id"] for one in box.ask("incidents", all=True)] == ids
    assert [one["id"] for one in box.ask("outbox")] == ids
    shown = json.loads(box.command("incidents", "--all", "--json").stdout)
    assert [one["id"] for one in shown] == ids
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(str(box.state / "middlewatch.sock"))
        with sock.makefile("rb") as answers:
            sock.sendall(b'{"v": 1, "op": "incidents", "all": true}\n')  # as every version asks
            whole = jsonlines.decode(answers.readline())
            assert [one["id"] for one in whole["data"]] == ids
            assert "next" not in whole
            found: list[str] = []
            after = None
            while after is not None or not found:
                asked = {"op": "incidents", "all": True, "limit": PAGE_ROWS, "after": after}
                sock.sendall(jsonlines.encode(asked))
                answer = jsonlines.decode(answers.readline())
                found += [one["id"] for one in answer["data"]]
                after = answer.get("next")
                box.ask("ack", id=found[-1])  # the incidents change meanwhile
            assert found == ids


def test_a_ping_between_the_parts_of_a_list(box: Any) -> None:
    """A client that reads one byte at a time has its list under way for as long as it likes."""
    ids = lay_down(box)
    box.command("start")
    slow = socket.socket(socket.AF_UNIX)
    slow.connect(str(box.state / "middlewatch.sock"))
    slow.sendall(b'{"op": "incidents", "all": true}\n')
    head = slow.recv(1)
    answered: list[int] = []
    others = [
        threading.Thread(target=lambda: answered.append(len(box.ask("incidents", all=True))))
        for _ in range(4)
    ]
    for other in others:
        other.start()
    assert box.ask("ping")["pid"]
    for other in others:
        other.join()
    assert answered == [COUNT] * 4
    with slow, slow.makefile("rb") as rest:
        answer = jsonlines.decode(head + rest.readline())
    assert [one["id"] for one in answer["data"]] == ids


def test_following_all_of_them(box: Any) -> None:
    ids = lay_down(box)
    box.command("start")
    follower = box.spawn(
        *COMMAND, "incidents", "--follow", "--all", "--json", stdout=subprocess.PIPE
    )
    assert follower.stdout is not None
    with follower.stdout as lines:
        told = [json.loads(lines.readline()) for _ in range(COUNT)]
    assert [one["id"] for one in told] == ids
    assert {one["change"] for one in told} == {"known"}
