"""The outbox with the real notifier, real Apprise and a real receiver on loopback."""

from __future__ import annotations

import itertools
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, Literal

import pytest

from middlewatch.daemon.config.schema import Alerts
from middlewatch.daemon.report.messages import MAX_BODY, TEST, Message
from middlewatch.daemon.report.notifier import DEADLINE_S
from middlewatch.daemon.report.outbox import GIVE_UP_S, PAUSES_S, WARNINGS_A_DAY, Outbox, Queued
from middlewatch.daemon.system import jsonlines

from ...fakes.clock import FakeClock
from ...fakes.receiver import Receiver

PATIENCE_S = 120.0
CRITICAL = Message("[CRITICAL] gpt on box3: loss is NaN", "since step 4210", "failure", "3fa2c1")
WARNING = Message("[WARNING] gpt on box3: disk", "2 saves left", "warning")


def dead_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


class Desk:
    """A phone, its clock, and the store it writes to."""

    def __init__(
        self, *urls: str, mode: Literal["ladder", "all"] = "ladder", queued: Iterable[Queued] = ()
    ) -> None:
        self.clock = FakeClock()
        self.stored: list[str] = []
        self.delivered: list[int] = []
        """How many versions of messages were stored at each time that some were delivered."""
        ids = itertools.count()
        self.outbox = Outbox(
            urls,
            Alerts(mode=mode),
            self._keep,
            queued=queued,
            new_id=lambda: f"id{next(ids)}",
            delivered=lambda: self.delivered.append(len(self.stored)),
        )

    def _keep(self, queued: Queued) -> None:
        self.stored.append(jsonlines.dumps(queued.to_json()))

    def push(self, message: Message = CRITICAL) -> Queued:
        queued = self.outbox.push(message, self.clock.now(), self.clock.monotonic())
        assert queued is not None
        return queued

    def pump(self) -> None:
        self.outbox.pump(self.clock.now(), self.clock.monotonic())

    def until(self, condition: Callable[[], Any], why: str = "in time") -> None:
        """Wait for the notifier as the daemon's loop does; the fake clock stands still."""
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, f"not {why}: {self.outbox.trouble}"
            fd = self.outbox.fileno()
            select.select([fd] if fd is not None else [], [], [], 0.02)
            self.pump()

    def settled(self) -> bool:
        """The newest attempt is over."""
        return not self.outbox._jobs and not self.outbox._child.waiting

    @property
    def doc(self) -> dict[str, Any]:
        """The newest version of what was stored last."""
        return dict(json.loads(self.stored[-1]))


@pytest.fixture
def desk() -> Iterator[Callable[..., Desk]]:
    made: list[Desk] = []

    def make(*urls: str, **more: Any) -> Desk:
        made.append(Desk(*urls, **more))
        return made[-1]

    yield make
    for one in made:
        one.outbox.close()


# ------------------------------------------------------------------------ delivery


def test_a_push_arrives(desk: Any, receiver: Receiver) -> None:
    d = desk(receiver.url)
    queued = d.push()
    assert json.loads(d.stored[0])["state"] == "queued"
    d.until(lambda: queued.state == "sent")
    (got,) = receiver.got
    assert (got.data["title"], got.data["message"]) == (CRITICAL.title, CRITICAL.body)
    assert got.data["type"] == "failure"
    assert not d.outbox.busy()
    assert (d.outbox.trouble, d.doc["state"], d.doc["sent_at"]) == ("", "sent", d.clock.now())
    # The same child takes the next ones, in their order, one after the other.
    d.push(Message("二", "损失是 NaN", "info"))
    last = d.push(Message("three", "x", "success"))
    d.until(lambda: last.state == "sent")
    assert [g.data["title"] for g in receiver.got] == [CRITICAL.title, "二", "three"]
    assert receiver.got[1].data["message"] == "损失是 NaN"


def test_the_ladder_falls_to_the_next_url(desk: Any, receiver: Receiver) -> None:
    d = desk(f"json://127.0.0.1:{dead_port()}/", "nonsense", receiver.url)
    queued = d.push()
    d.until(lambda: queued.state == "sent")
    assert len(receiver.got) == 1


def test_all_urls_fail_and_later_one_takes_it(desk: Any, receiver: Receiver) -> None:
    receiver.status = 503
    d = desk(receiver.url)
    queued = d.push()
    for number, pause in enumerate((*PAUSES_S, PAUSES_S[-1]), 1):
        d.until(lambda number=number: len(receiver.got) == number and d.settled())
        assert (queued.state, queued.attempts) == ("queued", number)
        assert "url 1 (json://)" in d.outbox.trouble
        assert d.doc["error"] == d.outbox.trouble
        assert 0.8 * pause <= queued.next_at - d.clock.now() <= 1.2 * pause
        d.clock.jump(0.7 * pause)
        d.pump()
        assert len(receiver.got) == number
        d.clock.jump(0.6 * pause)
    receiver.status = 200
    d.until(lambda: queued.state == "sent")
    assert (d.outbox.trouble, d.doc["error"]) == ("", "")


def test_a_clock_that_was_set_back_does_not_put_it_off(desk: Any, receiver: Receiver) -> None:
    receiver.status = 503
    d = desk(receiver.url)
    d.push()
    d.until(lambda: receiver.got and d.settled())
    d.clock.set_wall(d.clock.now() - 86400)
    receiver.status = 200
    d.clock.sleep(1.2 * PAUSES_S[0])
    d.until(lambda: not d.outbox.busy())


def test_what_worked_releases_what_waits_in_its_order(desk: Any, receiver: Receiver) -> None:
    """After an outage of an hour the phone hears all of it at once, not a quarter of an hour later."""
    receiver.status = 503
    d = desk(receiver.url)
    waiting = []
    for n in range(3):
        waiting.append(d.push(Message(f"[CRITICAL] {n}", "x", "failure")))
        d.until(d.settled)
    for _ in range(3):
        d.clock.sleep(1.2 * PAUSES_S[1])
        d.pump()
        d.until(d.settled)
    receiver.got.clear()
    receiver.status = 200
    newest = d.push(Message("[CRITICAL] newest", "x", "failure"))
    d.until(lambda: not d.outbox.busy())
    assert all(q.state == "sent" for q in (*waiting, newest))
    titles = [g.data["title"] for g in receiver.got]
    assert (
        titles.index("[CRITICAL] 0") < titles.index("[CRITICAL] 1") < titles.index("[CRITICAL] 2")
    )


def test_what_nobody_takes_is_not_tried_with_every_success(desk: Any, receiver: Receiver) -> None:
    receiver.status = 503
    d = desk(receiver.url)
    odd = d.push()
    d.until(d.settled)
    for n in range(4):
        receiver.status = 200
        d.push(Message(str(n), "x", "info"))
        d.until(lambda: d.outbox.trouble == "")
        receiver.status = 503
        d.until(lambda: odd.attempts >= 2 and d.settled())
    assert odd.attempts == 2


def deaths(count: int) -> list[Message]:
    return [
        Message(
            f"[CRITICAL] run-{n} on box3: process {n} was killed (SIGKILL)",
            f"Proof: pid {n}\nFirst step: dmesg\nIncident {n}",
            "failure",
            str(n),
            "process_killed",
        )
        for n in range(count)
    ]


def test_fifty_deaths_at_once_are_one_push_with_a_list(desk: Any, receiver: Receiver) -> None:
    d = desk(receiver.url)
    sent = [d.push(message) for message in deaths(51)]
    d.until(lambda: not d.outbox.busy())
    assert {q.state for q in sent} == {"sent"}
    assert d.delivered[:51] == list(range(1, 52)), "each is committed before it is sent"
    assert d.delivered[51:] == [51 + 1, 51 + 51], "one transaction for all that were sent together"
    first, rest = (g.data for g in receiver.got)
    assert first["title"] == sent[0].message.title
    assert rest["title"] == "[CRITICAL] 50 at once: process_killed"
    assert rest["message"].startswith("run-1 on box3: process 1 was killed")
    assert rest["message"].endswith("First step: dmesg\nAll of them: middlewatch incidents")
    assert " more\n" in rest["message"]
    assert len(rest["message"]) <= MAX_BODY


def test_a_list_is_kept_until_it_is_taken(desk: Any, receiver: Receiver) -> None:
    receiver.status = 503
    d = desk(receiver.url)
    sent = [d.push(message) for message in deaths(9)]
    d.until(lambda: receiver.got and d.settled() and sent[8].attempts == 1)
    assert {q.state for q in sent} == {"queued"}
    assert all(q.error for q in sent)
    receiver.status = 200
    d.clock.sleep(1.2 * PAUSES_S[0])
    d.until(lambda: not d.outbox.busy())
    assert receiver.got[-1].data["title"].startswith("[CRITICAL] ")
    assert {q.state for q in sent} == {"sent"}


def test_a_few_or_of_other_classes_come_alone(desk: Any, receiver: Receiver) -> None:
    d = desk(receiver.url)
    said = [CRITICAL, *deaths(5)[1:], replace(CRITICAL, trouble="loss_nan")]
    for message in said:
        d.push(message)
    d.until(lambda: not d.outbox.busy())
    assert [g.data["title"] for g in receiver.got] == [message.title for message in said]


def test_mode_all_does_not_tell_a_url_twice(desk: Any, receivers: Any) -> None:
    good, bad = receivers(), receivers()
    bad.status = 500
    d = desk(good.url, bad.url, mode="all")
    queued = d.push()
    d.until(lambda: bad.got and d.settled())
    assert queued.state == "queued"
    bad.status = 200
    d.clock.jump(10)
    d.until(lambda: queued.state == "sent")
    assert (len(good.got), len(bad.got)) == (1, 2)


def test_a_test_goes_to_every_url_in_mode_ladder(desk: Any, receivers: Any) -> None:
    first, second = receivers(), receivers()
    one = desk(first.url, second.url)
    push = one.push(TEST)
    one.until(one.settled)
    assert [r["ok"] for r in push.results] == [True, True]
    assert [len(first.got), len(second.got)] == [1, 1]


def test_what_waits_when_the_last_url_is_removed_waits_for_another(
    desk: Any, receiver: Receiver
) -> None:
    one = desk(f"json://127.0.0.1:{dead_port()}/")
    push = one.push()
    one.until(lambda: push.attempts and push.error)
    one.outbox.urls = ()
    one.clock.sleep(PAUSES_S[-1] * 2)
    one.pump()
    assert (push.state, push.attempts) == ("queued", 1)
    one.outbox.urls = (receiver.url,)
    one.until(lambda: push.state == "sent")
    assert (push.state, len(receiver.got)) == ("sent", 1)


def test_a_message_is_sent_once_the_url_that_refused_it_is_removed(
    desk: Any, receiver: Receiver
) -> None:
    one = desk(receiver.url, f"json://127.0.0.1:{dead_port()}/", mode="all")
    push = one.push()
    one.until(lambda: push.attempts and push.error and one.settled())
    one.outbox.urls = (receiver.url,)
    one.clock.sleep(PAUSES_S[-1] * 2)
    one.until(lambda: push.state == "sent")
    assert (push.state, len(receiver.got), one.outbox.trouble) == ("sent", 1, "")


def test_a_message_that_nobody_takes_is_given_up_after_days(desk: Any) -> None:
    d = desk(f"json://127.0.0.1:{dead_port()}/")
    queued = d.push()
    d.until(lambda: queued.attempts == 1 and d.settled())
    d.clock.jump(GIVE_UP_S + 1)
    d.until(lambda: queued.attempts == 2 and d.settled())
    assert (queued.state, d.outbox.busy()) == ("failed", False)
    assert d.doc["state"] == "failed"


def test_without_a_url_it_is_silent_and_says_so(desk: Any) -> None:
    d = desk()
    assert d.push().state == "silent"
    assert d.doc["state"] == "silent"
    assert not d.outbox.busy()
    assert d.outbox.fileno() is None


# ------------------------------------------------------------------------ a notifier in trouble


def test_a_receiver_that_hangs(
    desk: Any, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver.hang.clear()
    d = desk(receiver.url)
    queued = d.push()
    d.until(receiver.arrived.is_set)
    d.clock.jump(DEADLINE_S + 1)
    d.pump()
    assert d.outbox.trouble == "the notifier did not answer"
    assert queued.state == "queued"
    receiver.hang.set()
    d.clock.jump(60)
    d.until(lambda: queued.state == "sent")
    assert queued.attempts == 2


def test_kill_9_of_the_notifier_in_the_middle(desk: Any, receiver: Receiver) -> None:
    receiver.hang.clear()
    d = desk(receiver.url)
    queued = d.push()
    d.until(receiver.arrived.is_set)
    os.kill(d.outbox._child.pid, signal.SIGKILL)
    d.until(d.settled)
    assert (queued.state, queued.id) == ("queued", "id0")
    assert "the notifier ended" in d.outbox.trouble
    receiver.hang.set()
    d.clock.jump(60)
    d.until(lambda: queued.state == "sent")
    assert {json.loads(s)["id"] for s in d.stored} == {"id0"}
    assert [g.data["title"] for g in receiver.got] == [CRITICAL.title] * 2  # at least once


def test_kill_9_of_the_daemon_in_the_middle(desk: Any, receiver: Receiver) -> None:
    first = desk(receiver.url)
    receiver.hang.clear()
    first.push()
    first.until(receiver.arrived.is_set)
    docs = [json.loads(s) for s in first.stored]  # all that the next start has
    first.outbox.close()
    receiver.hang.set()
    second = desk(receiver.url, queued=[Queued.from_json(docs[-1] | {"of tomorrow": 1})])
    assert second.outbox.busy()
    second.until(lambda: not second.outbox.busy())
    assert (second.doc["id"], second.doc["state"]) == ("id0", "sent")
    third = desk(receiver.url, queued=[Queued.from_json(second.doc)])
    assert not third.outbox.busy()


def test_a_notifier_that_cannot_be_started(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    d = desk("json://127.0.0.1:9/")
    d.push()
    assert "cannot start" in d.outbox.trouble
    assert d.outbox.busy()


def test_an_idle_notifier_that_left_does_not_delay_the_next_push(
    desk: Any, receiver: Receiver
) -> None:
    d = desk(receiver.url)
    one = d.push()
    d.until(lambda: one.state == "sent")
    for _ in range(3):
        with open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), d.outbox._child._stdin)  # its owner hung up: it leaves
        d.until(lambda: d.outbox.fileno() is None)
        one = d.push()
        d.until(lambda one=one: one.state == "sent")  # and not a second of the clock has passed


# ------------------------------------------------------------------------ budget and secrets


def test_warnings_have_a_budget_and_criticals_have_none(desk: Any) -> None:
    d = desk()
    for _ in range(WARNINGS_A_DAY):
        d.push(WARNING)
    assert d.outbox.push(WARNING, d.clock.now(), 0.0) is None
    d.push(CRITICAL)
    d.clock.jump(86401)
    d.push(WARNING)


def test_no_secret_of_a_url_is_told_or_stored(desk: Any, receiver: Receiver) -> None:
    receiver.status = 401
    port = receiver.port
    urls = (
        f"json://bob:hunter22@127.0.0.1:{port}/tok3nInPath?+X-Api-Key=headerSecret",
        f"ntfy://bob:hunter22@127.0.0.1:{port}/secretTopic",
        f"json://bob:hunter22@127.0.0.1:{dead_port()}/tok3nInPath",
        "tgram://123456789:tgramTokentgramTokentgramTokenABCDE/chatNumber1",
        "bad://bob:hunter22@host/tok3nInPath",
        "hunter22",
    )
    d = desk(*urls[:3], urls[4], urls[5])
    d.push()
    d.until(lambda: receiver.got and d.settled())
    assert d.outbox.trouble.count("url ") == 5
    told = d.outbox.trouble + "".join(d.stored) + d.outbox._child.last_words
    for secret in ("hunter22", "bob", "tok3nInPath", "headerSecret", "secretTopic"):
        assert secret not in told
