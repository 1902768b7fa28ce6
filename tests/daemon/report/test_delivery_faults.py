"""The fault table of delivery: whatever happens on the way, every critical push arrives, in order, and at
most once more for each kill. Real notifier, real Apprise, real receivers; time is moved by hand."""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import pytest

from middlewatch.daemon.config.schema import Alerts, Route
from middlewatch.daemon.report.bundles import FROM
from middlewatch.daemon.report.deliveries import BROKEN_S, HEDGE_S
from middlewatch.daemon.report.messages import Message
from middlewatch.daemon.report.outbox import GIVE_UP_S, WARNINGS_A_DAY, Outbox, Queued
from middlewatch.daemon.system.store import Store

from ...fakes.clock import FakeClock
from ...fakes.receiver import Receiver
from ...fakes.services import certificate

HOUR = 3600.0
PATIENCE_S = 120.0
IDS = itertools.count()


def critical(number: int, incident: str = "") -> Message:
    return Message(
        f"[CRITICAL] {number}", "b", "failure", incident or f"i{number}", key=f"k{number}"
    )


class Daemon:
    """The outbox with a real store; ``kill`` loses all that is not committed."""

    def __init__(
        self,
        root: Path,
        *urls: str,
        mode: Literal["ladder", "all"] = "ladder",
        clock: Any = None,
        rules: Mapping[str, Route] | None = None,
    ) -> None:
        self.root, self.urls, self.mode, self.rules = root, urls, mode, rules
        self.clock: FakeClock = clock or FakeClock()
        self.kills = 0
        self.start()

    def start(self) -> None:
        self.store = Store(self.root / "state.db", self.root / "reserve", self.root)
        known = [Queued.from_json(doc) for _, doc in self.store.all("message")]
        self.outbox = Outbox(
            self.urls,
            Alerts(mode=self.mode),
            lambda q: self.store.put("message", q.id, q.to_json(), self.clock.now()),
            queued=known,
            new_id=lambda: f"id{next(IDS)}",
            delivered=self.store.flush,
            rules=self.rules,
        )

    def kill(self) -> None:
        """As ``kill -9``: the notifier ends with the daemon, and nothing is flushed."""
        self.outbox.close()
        self.store._leave()
        self.kills += 1
        self.start()

    def push(self, message: Message) -> Queued | None:
        return self.outbox.push(message, self.clock.now(), self.clock.monotonic())

    def pump(self) -> None:
        self.outbox.pump(self.clock.now(), self.clock.monotonic())

    def settle(self) -> None:
        """Wait until nothing is on its way."""
        self.until(lambda: not self.outbox._jobs and not self.outbox._child.waiting)

    def until(self, condition: Callable[[], Any]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, self.outbox.trouble
            time.sleep(0.01)
            self.pump()

    def let_pass(self, seconds: float, step_s: float = 30.0) -> None:
        """Time goes on, in steps in which the outbox does what is due."""
        until = self.clock.monotonic() + seconds
        while self.clock.monotonic() < until:
            self.clock.jump(min(step_s, until - self.clock.monotonic()))
            self.pump()
            self.settle()

    def close(self) -> None:
        self.outbox.close()
        self.store.close()


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Callable[..., Daemon]]:
    made: list[Daemon] = []

    def make(*urls: str, **more: Any) -> Daemon:
        made.append(Daemon(tmp_path, *urls, **more))
        return made[-1]

    yield make
    for one in made:
        one.close()


def titles(receiver: Receiver) -> list[str]:
    return [got.data["title"] for got in receiver.got]


def test_a_receiver_that_is_down_for_an_hour(daemon: Any, receiver: Receiver) -> None:
    receiver.status = 503
    d = daemon(receiver.url)
    for number in range(4):
        d.push(critical(number))
        d.let_pass(HOUR / 4)
    tries = len(receiver.got)
    assert tries < 60, "it is not hammered"
    receiver.got.clear()
    receiver.status = 200
    d.let_pass(HOUR / 2)
    assert sorted(titles(receiver)) == [f"[CRITICAL] {n}" for n in range(4)]
    assert not d.outbox.busy()


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("json://nowhere.invalid/x", ""),  # no such name
        ("jsons://127.0.0.1:{port}/x", ""),  # plain HTTP where TLS is expected
        ("json://127.0.0.1:1/x", ""),  # nobody listens
    ],
    ids=["dns", "tls", "refused"],
)
def test_one_that_cannot_be_reached_holds_up_no_other(
    daemon: Any, receiver: Receiver, url: str, words: str
) -> None:
    d = daemon(url.format(port=receiver.port), receiver.url)
    queued = d.push(critical(0))
    d.until(lambda: queued.state == "sent")
    assert titles(receiver)[-1] == "[CRITICAL] 0"
    assert d.outbox.trouble.startswith("url 1 (json")


def fail_for_an_hour(d: Daemon) -> None:
    """Four pushes go nowhere: they wait, and are not tried all the time."""
    for number in range(4):
        d.push(critical(number, "same" if number < 2 else ""))
        d.settle()
        d.let_pass(HOUR / 4, 60.0)
    assert [queued.message.title for queued in d.outbox.waiting()] == FOUR
    assert all(1 < queued.attempts < 20 for queued in d.outbox.waiting())
    assert d.outbox.trouble.startswith("url 1 (json")


FOUR = [f"[CRITICAL] {n}" for n in range(4)]


@pytest.mark.slow
def test_a_name_that_is_not_found_for_an_hour(daemon: Any, receiver: Receiver) -> None:
    """Over a kill as well; the person then corrects the URL."""
    d = daemon("json://nowhere.invalid/x")
    fail_for_an_hour(d)
    d.kill()
    d.outbox.urls = (receiver.url,)
    d.until(lambda: not d.outbox.busy())
    assert titles(receiver) == FOUR
    assert d.outbox.trouble == ""


@pytest.mark.slow
def test_a_port_where_nobody_listens_for_an_hour(daemon: Any) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        d = daemon(f"json://127.0.0.1:{port}/")
        fail_for_an_hour(d)
    back = Receiver(port)
    try:
        d.let_pass(HOUR / 2)
        assert sorted(titles(back)) == FOUR
        assert titles(back).index(FOUR[0]) < titles(back).index(FOUR[1]), "of one incident"
        assert d.outbox.trouble == ""
    finally:
        back.close()


@pytest.mark.slow
def test_a_certificate_that_nobody_vouches_for(
    daemon: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is said to such a service. Once its certificate is known on the box, all arrives."""
    made = certificate(tmp_path, ["localhost"])
    secure = Receiver(certificate=made)
    try:
        d = daemon(f"{secure.url}?cto=60&rto=60")  # seconds: a handshake on a busy box
        fail_for_an_hour(d)
        assert secure.got == []
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(made))
        d.kill()

        def arrived() -> bool:
            """The next try may be some minutes away."""
            d.let_pass(60.0)
            return len(secure.got) >= len(FOUR) and not d.outbox.busy()

        d.until(arrived)
        assert titles(secure) == FOUR
    finally:
        secure.close()


def test_retry_after_is_obeyed(daemon: Any, receiver: Receiver) -> None:
    receiver.status, receiver.headers = 429, {"Retry-After": "600"}
    d = daemon(receiver.url)
    queued = d.push(critical(0))
    d.settle()
    assert len(receiver.got) == 1
    d.push(critical(1))  # a fresh one does not go there either
    d.let_pass(590.0)
    assert len(receiver.got) == 1
    assert queued.next_at == pytest.approx(d.clock.now() + 10.0, abs=1.0)
    receiver.status = 200
    d.let_pass(120.0)
    assert titles(receiver)[1:] == ["[CRITICAL] 0", "[CRITICAL] 1"]


def test_another_route_takes_over_while_one_wants_to_be_left_alone(
    daemon: Any, receivers: Any
) -> None:
    busy, spare = receivers(), receivers()
    busy.status, busy.headers = 429, {"Retry-After": "600"}
    d = daemon(busy.url, spare.url)
    for number in range(3):
        queued = d.push(critical(number))
        d.until(lambda queued=queued: queued.state == "sent")
    assert (len(busy.got), len(spare.got)) == (1, 3)


def test_storms_of_500(daemon: Any, receiver: Receiver) -> None:
    """Now and then one gets through; nothing is lost or told twice."""
    chance = random.Random(11)
    d = daemon(receiver.url)
    taken: list[str] = []
    for number in range(20):
        receiver.status = 500 if chance.random() < 0.7 else 200
        before = len(receiver.got)
        d.push(critical(number))
        d.settle()
        taken += titles(receiver)[before:] if receiver.status == 200 else []
    receiver.status = 200
    before = len(receiver.got)
    d.let_pass(2 * HOUR, 300.0)
    taken += titles(receiver)[before:]
    assert Counter(taken) == Counter(f"[CRITICAL] {n}" for n in range(20))


def test_a_slow_loris_holds_up_no_other_route(daemon: Any, receivers: Any) -> None:
    slow, good = receivers(), receivers()
    slow.dribble = True
    d = daemon(slow.url, good.url, mode="all")
    for number in range(3):
        d.push(critical(number))
    d.until(lambda: len(good.got) == 3)
    assert titles(good) == [f"[CRITICAL] {n}" for n in range(3)]
    assert len(slow.got) == 1


def test_the_next_of_a_ladder_is_called_when_the_first_does_not_answer(
    daemon: Any, receivers: Any
) -> None:
    slow, good = receivers(), receivers()
    slow.dribble = True
    d = daemon(slow.url, good.url)
    queued = d.push(critical(0))
    d.until(slow.arrived.is_set)
    d.pump()
    assert good.got == []
    d.clock.jump(HEDGE_S + 1.0)
    d.until(lambda: queued.state == "sent")
    assert len(good.got) == 1


def test_a_token_that_is_refused_is_told_and_not_hammered(daemon: Any, receivers: Any) -> None:
    bad, good = receivers(), receivers()
    bad.status = 401
    d = daemon(bad.url, good.url)
    d.push(critical(0))
    d.until(lambda: good.got)
    assert "url 1 (json://): it refuses the token or the address" in d.outbox.trouble
    (line,) = d.outbox.newly_broken(d.clock.monotonic())
    assert line.target.label == "url 1 (json://)"
    assert list(d.outbox.newly_broken(d.clock.monotonic())) == [], "once"
    d.let_pass(600.0)
    assert len(bad.got) == 1


def test_a_route_that_fails_for_long_is_told(daemon: Any, receivers: Any) -> None:
    bad, good = receivers(), receivers()
    bad.status = 500
    d = daemon(bad.url, good.url, mode="all")
    d.push(critical(0))
    d.settle()
    assert list(d.outbox.newly_broken(d.clock.monotonic())) == []
    d.let_pass(BROKEN_S)
    assert len(list(d.outbox.newly_broken(d.clock.monotonic()))) == 1


def test_messages_about_one_incident_keep_their_order(daemon: Any, receiver: Receiver) -> None:
    receiver.status = 503
    d = daemon(receiver.url)
    first, second = critical(0, "same"), critical(1, "same")
    d.push(first)
    d.settle()
    receiver.got.clear()
    receiver.status = 200
    d.push(second)  # fresh, and it still comes after the one that waits
    d.until(lambda: len(receiver.got) == 2)
    assert titles(receiver) == [first.title, second.title]


def test_a_message_that_no_service_takes_holds_up_its_incident_for_minutes_only(
    daemon: Any, receiver: Receiver
) -> None:
    receiver.never = "CRITICAL] 0"
    d = daemon(receiver.url)
    d.push(critical(0, "same"))
    d.let_pass(120.0)
    d.push(critical(1, "same"))
    d.let_pass(HOUR, 60.0)
    d.push(critical(2, "same"))
    d.let_pass(HOUR, 60.0)
    others = [title for title in titles(receiver) if title != "[CRITICAL] 0"]
    assert others == ["[CRITICAL] 1", "[CRITICAL] 2"]
    assert len(receiver.got) < 30, "it is not hammered"


def test_after_a_long_outage_all_of_an_incident_come_in_their_order(
    daemon: Any, receiver: Receiver
) -> None:
    receiver.status = 503
    d = daemon(receiver.url)
    for number in range(4):
        d.push(critical(number, "same"))
        d.let_pass(HOUR, 30.0)
    receiver.got.clear()
    receiver.status = 200
    d.let_pass(HOUR, 30.0)
    assert titles(receiver) == [f"[CRITICAL] {n}" for n in range(4)]


def test_a_full_disk_while_it_is_queued(
    daemon: Any, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit fails: the push goes out all the same, and is known after a kill."""
    receiver.status = 503
    d = daemon(receiver.url)
    monkeypatch.setattr(d.store, "_commit", lambda **more: False)
    d.push(critical(0))
    d.settle()
    assert len(receiver.got) == 1
    receiver.status = 200
    d.kill()
    d.let_pass(60.0)
    assert titles(receiver) == ["[CRITICAL] 0"] * 2


def test_it_is_committed_before_it_is_sent(daemon: Any, receiver: Receiver) -> None:
    receiver.hang.clear()
    d = daemon(receiver.url)
    d.push(critical(0))
    d.until(receiver.arrived.is_set)
    other = Store(d.root / "state.db", d.root / "reserve", d.root)
    assert [doc["state"] for _, doc in other.all("message")] == ["queued"]
    other._leave()
    receiver.hang.set()


def test_a_kill_does_not_tell_a_route_twice_that_took_it(daemon: Any, receivers: Any) -> None:
    good, bad = receivers(), receivers()
    bad.status = 500
    d = daemon(good.url, bad.url, mode="all")
    d.push(critical(0))
    d.until(lambda: bad.got and good.got)
    d.settle()
    d.kill()
    bad.status = 200
    d.let_pass(60.0)
    assert (len(good.got), len(bad.got)) == (1, 2)


@pytest.mark.slow
def test_kill_9_of_daemon_and_notifier_at_random_moments(daemon: Any, receiver: Receiver) -> None:
    """Every critical arrives, its copies under one key, at most one more for each kill, in order."""
    chance = random.Random(5)
    d = daemon(receiver.url)
    notifier_kills = 0
    for number in range(30):
        d.push(critical(number, "same"))
        until = time.monotonic() + chance.uniform(0.0, 0.4)
        while time.monotonic() < until:
            d.pump()
            time.sleep(0.005)
        if chance.random() < 0.3:
            d.kill()
        elif chance.random() < 0.4 and d.outbox._child.pid is not None:
            os.kill(d.outbox._child.pid, signal.SIGKILL)
            notifier_kills += 1
        d.clock.jump(20.0)
    d.let_pass(HOUR, 20.0)
    d.until(lambda: not d.outbox.busy())
    told = Counter(titles(receiver))
    assert set(told) == {f"[CRITICAL] {n}" for n in range(30)}
    twice = sum(told.values()) - len(told)
    assert twice <= d.kills + notifier_kills
    first_seen = list(dict.fromkeys(titles(receiver)))
    assert first_seen == [f"[CRITICAL] {n}" for n in range(30)]
    keys: dict[str, set[str]] = {}
    for got in receiver.got:
        keys.setdefault(got.data["title"], set()).add(got.headers["Idempotency-Key"])
    assert all(len(some) == 1 for some in keys.values())


def test_the_budget_of_warnings_survives_a_kill(daemon: Any) -> None:
    d = daemon()
    for number in range(WARNINGS_A_DAY):
        assert d.push(Message(f"[WARNING] {number}", "b", "warning")) is not None
        d.store.flush()
    d.kill()
    assert d.push(Message("[WARNING] more", "b", "warning")) is None
    d.clock.jump(86401.0)
    assert d.push(Message("[WARNING] tomorrow", "b", "warning")) is not None


def test_the_second_of_a_ladder_is_not_called_because_the_first_has_much_to_do(
    daemon: Any, receivers: Any
) -> None:
    first, second = receivers(), receivers()
    first.hang.clear()
    d = daemon(first.url, second.url)
    d.push(critical(0))
    d.until(first.arrived.is_set)
    for number in range(1, 4):
        d.push(critical(number))
    d.pump()
    assert len(d.outbox._jobs) == 1, "nothing else is on its way"
    first.hang.set()
    d.until(lambda: not d.outbox.busy())
    assert (len(first.got), len(second.got)) == (4, 0)


def test_a_ladder_waits_for_a_busy_route_as_long_as_for_an_answer(
    daemon: Any, receivers: Any
) -> None:
    first, second = receivers(), receivers()
    first.hang.clear()
    d = daemon(first.url, second.url)
    d.push(critical(0))
    d.until(first.arrived.is_set)
    d.push(critical(1))
    d.clock.jump(HEDGE_S + 1.0)
    d.until(lambda: len(second.got) == 2)
    assert titles(second) == ["[CRITICAL] 0", "[CRITICAL] 1"]
    first.hang.set()


def test_a_list_is_no_copy_of_its_first_message(daemon: Any, receiver: Receiver) -> None:
    """The service may have taken the first alone, and its answer be lost: the list is something else."""
    receiver.status = 503
    d = daemon(receiver.url)
    for number in range(FROM):
        d.push(Message(f"[CRITICAL] {number}", "b", "failure", f"i{number}", trouble="crash"))
        d.settle()
    alone = {got.headers["Idempotency-Key"] for got in receiver.got}
    assert len(alone) == FROM
    receiver.got.clear()
    d.let_pass(60.0)
    receiver.status = 200
    d.let_pass(300.0)
    lists = [got for got in receiver.got if "at once" in got.data["title"]]
    keys = {got.headers["Idempotency-Key"] for got in lists}
    assert len(lists) > 1
    assert len(keys) == 1, "the same for each try of the list"
    assert not keys & alone
    assert not d.outbox.busy()


PAGER = {"pager": Route(min_severity="critical")}


def test_what_no_url_takes_any_more_is_told_and_given_up(daemon: Any, receiver: Receiver) -> None:
    receiver.status = 503
    d = daemon(receiver.url, rules=PAGER)
    warning = d.push(Message("[WARNING] old", "b", "warning", "same"))
    d.settle()
    receiver.status = 200
    receiver.got.clear()
    d.outbox.urls = (f"pager={receiver.url}",)
    d.push(critical(1, "same"))  # it waits for nothing that does not go its way
    d.until(lambda: d.outbox.waiting() == [warning])
    assert titles(receiver) == ["[CRITICAL] 1"]
    assert "no URL takes 1 of the pushes that wait" in d.outbox.trouble
    d.let_pass(GIVE_UP_S + HOUR, HOUR)
    assert (warning.state, warning.error) == ("failed", "no URL takes it")
    assert not d.outbox.busy()
    assert d.outbox.trouble == ""
    assert len(receiver.got) == 1


def test_what_no_url_takes_any_more_goes_to_a_new_one(daemon: Any, receivers: Any) -> None:
    down, new = receivers(), receivers()
    down.status = 503
    d = daemon(down.url, rules=PAGER)
    d.push(Message("[WARNING] old", "b", "warning"))
    d.settle()
    d.outbox.urls = (f"pager={down.url}",)
    d.let_pass(HOUR, 600.0)
    d.outbox.urls = (f"pager={down.url}", new.url)
    d.until(lambda: titles(new) == ["[WARNING] old"])


def test_warnings_that_nobody_gets_use_up_no_budget(daemon: Any, receiver: Receiver) -> None:
    rules = {"disks": Route(classes=("disk_*",))}
    d = daemon(f"disks={receiver.url}", rules=rules)
    for number in range(WARNINGS_A_DAY + 1):
        queued = d.push(Message(f"[WARNING] {number}", "b", "warning", trouble="loss_spike"))
        assert queued is not None
        assert queued.state == "silent"
    d.store.flush()
    d.kill()
    assert d.push(Message("[WARNING] disk", "b", "warning", trouble="disk_full")) is not None
    d.until(lambda: titles(receiver) == ["[WARNING] disk"])


def results(queued: Queued) -> list[str]:
    return [one["url"] for one in queued.results]


def test_results_stand_in_the_order_of_the_urls(daemon: Any, receivers: Any) -> None:
    urls: Iterable[str] = [receivers().url for _ in range(11)]
    d = daemon(*urls, mode="all")
    queued = d.push(critical(0))
    d.until(lambda: queued.state == "sent")
    assert results(queued) == [f"url {n} (json://)" for n in range(1, 12)]
    doc = json.loads(json.dumps(queued.to_json()))
    assert len(doc["took"]) == 11
