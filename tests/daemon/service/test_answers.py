"""Answers from the phone: real store, outbox and notifier child, and a server of ntfy's shape on loopback."""

from __future__ import annotations

import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.config.answers import KEPT, Answer, Seal, secret_of
from middlewatch.daemon.config.load import parse, rows
from middlewatch.daemon.config.paths import StateDir
from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.judge.incidents import Incident, Incidents
from middlewatch.daemon.report import polls
from middlewatch.daemon.report.messages import Message
from middlewatch.daemon.service.alerting import Alerter
from middlewatch.daemon.service.answers import (
    FRESH_S,
    MOST_AN_HOUR,
    RARELY_S,
    SOON_S,
    Answers,
    bare,
    last_lines,
)
from middlewatch.daemon.service.context import Context
from middlewatch.daemon.service.watched_run import WatchedRun
from middlewatch.daemon.system.errors import ConfigError
from middlewatch.daemon.system.loop import Loop
from middlewatch.daemon.system.pump import Pump
from middlewatch.daemon.system.store import Store
from middlewatch.sentinels.kit import Finding, Severity

from ...fakes.clock import FakeClock
from ...fakes.ntfy import Button, Notification, Ntfy, press

PATIENCE_S = 120.0
NOW = 1_800_000_000.0
TOPIC, BACK = "pushes-of-box3", "answers-of-box3"


class Desk:
    """A daemon with one run in trouble, and the phone."""

    def __init__(self, root: Path, ntfy: Ntfy, more: str = "") -> None:
        self.root, self.ntfy = root, ntfy
        self.clock = FakeClock(now=time.time())
        self.said: list[str] = []
        self.more = more
        self.open()

    def open(self) -> None:
        self.loop = Loop(self.clock, lambda error: pytest.fail(repr(error)))
        state = StateDir(self.root)
        self.store = Store(state.store, state.reserve, self.root)
        known = Incidents(Incident.from_json(doc) for _, doc in self.store.all("incident"))
        topic = f"{self.ntfy.url.replace('//', '//bob:hunter22@')}/{BACK}"
        config = parse(
            f'[alerts]\nhost = "box3"\nattach = false\nurls = ["{self.ntfy.apprise}/{TOPIC}"]\n'
            f'[answers]\ntopic = "{topic}"\n{self.more}',
            "f",
        )
        pump = Pump(self.loop, self.clock, self.said.append)
        self.context = Context(state, config, self.clock, self.store, known, pump)
        self.run = WatchedRun(RunSpec(name="gpt", id="gpt-1"), self.context.box, self.clock)
        self.context.runs["gpt-1"] = self.run
        self.alerter = Alerter(self.context, self.loop, self.said.append)
        stored = dict(self.store.all("box")).get("answers")
        self.answers = Answers(self.context, self.alerter, self.said.append, stored)

    def close(self) -> None:
        self.alerter.outbox.close()
        self.store.close()
        self.loop.close()

    def restart(self) -> None:
        self.close()
        self.open()

    def trouble(self, trouble: str = "loss_nan", key: str = "") -> Incident:
        """It is told, and the phone has it."""
        before = len(self.phone)
        finding = Finding(trouble, Severity.CRITICAL, f"{trouble} happened", key=key)
        (change,) = self.context.incidents.update(
            "gpt-1", [("nan_loss", finding)], {}, self.clock.now()
        )
        self.alerter.alert(self.run, change)
        self.until(lambda: len(self.phone) > before, "the push")
        return change.incident

    @property
    def phone(self) -> list[Notification]:
        return self.ntfy.topics.get(TOPIC, [])

    def button(self, label: str) -> Button:
        """That of the newest push that has one."""
        newest = next(one for one in reversed(self.phone) if one.buttons)
        return next(one for one in newest.buttons if one.label == label)

    def until(self, what: Callable[[], Any], why: str = "it") -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not what():
            assert time.monotonic() < deadline, f"{why} never came: {self.said}"
            self.alerter.outbox.pump(self.clock.now(), self.clock.monotonic())
            time.sleep(0.01)

    def look(self, after_s: float = RARELY_S) -> None:
        """The topic is read once."""
        self.clock.jump(after_s)
        before = len(self.ntfy.reads)
        self.answers.tick()
        self.until(lambda: not self.answers._asked, "an answer of the topic")
        assert len(self.ntfy.reads) == before + 1


@pytest.fixture
def ntfy() -> Iterator[Ntfy]:
    made = Ntfy(login="bob:hunter22")
    yield made
    made.close()


@pytest.fixture
def desk(tmp_path: Path, ntfy: Ntfy) -> Iterator[Desk]:
    made = Desk(tmp_path, ntfy)
    yield made
    made.close()


# ------------------------------------------------------------------------ what a person presses


def test_every_button(desk: Desk) -> None:
    incident = desk.trouble()
    assert [b.label for b in desk.phone[-1].buttons] == [
        "Acknowledge",
        "Silence 1 h",
        "Show the log",
    ]
    button = desk.button("Acknowledge")
    assert button.url == f"{desk.ntfy.url}/{BACK}"  # the password is for reading only
    assert press(button) == 200
    desk.look(SOON_S)
    assert incident.state == "acknowledged"
    desk.until(lambda: len(desk.phone) == 2, "the word that it is done")
    assert desk.phone[1].title == "[ACK] gpt on box3: no more reminders"
    assert not desk.phone[1].buttons
    press(desk.button("Silence 1 h"))
    desk.look()
    (silence,) = desk.alerter.silences.all()
    assert (silence["run"], silence["class"]) == ("gpt-1", "loss_nan")
    assert silence["until"] == pytest.approx(desk.clock.now() + 3600.0)
    desk.until(lambda: len(desk.phone) == 3, "the word that it is silent")
    desk.run.logs.newest = ["iter 1: loss 2.5", "  ", "token=hf_abcdefghijklmnopqrstuvwxyz012345"]
    press(desk.button("Show the log"))
    desk.look()
    desk.until(lambda: len(desk.phone) == 4, "the log")
    assert desk.phone[3].title == "[LOG] gpt on box3: its last lines"
    assert desk.phone[3].message.startswith("iter 1: loss 2.5\n")
    assert "hf_abc" not in desk.phone[3].message


def test_a_button_counts_once_also_over_a_restart(desk: Desk, ntfy: Ntfy) -> None:
    desk.trouble()
    button = desk.button("Silence 1 h")
    press(button)
    desk.look(SOON_S)
    assert len(desk.alerter.silences.all()) == 1
    press(button)
    desk.look()
    desk.restart()
    press(button)
    ntfy.write(BACK, button.body)
    desk.look()
    assert len(desk.alerter.silences.all()) == 1
    assert any("it was used before" in line for line in desk.said)
    press(desk.button("Acknowledge"))  # the others of this push still count
    desk.look()
    (incident,) = desk.context.incidents.all()
    assert incident.state == "acknowledged"


def test_what_is_forged_counts_for_nothing(desk: Desk, ntfy: Ntfy, tmp_path: Path) -> None:
    incident = desk.trouble()
    genuine = desk.button("Acknowledge").body
    stranger = Seal(b"another box").token("ack", incident.id, desk.clock.now() + 3600)
    parts = genuine.split("-")
    for forged in (
        stranger,
        genuine.replace("-ack-", "-silence-"),
        genuine.replace(incident.id, "abcdef"),
        "-".join([*parts[:3], "zzzzzz", *parts[4:]]),
        "-".join([*parts[:4], "0" * 16, parts[5]]),
        genuine[:-1] + ("0" if genuine[-1] != "0" else "1"),
        genuine + "0",
        f"mw1-end-{'-'.join(parts[2:])}",
        "mw1-ack",
        "please stop the run",
        "{}",
        "",
        "\x1b[2J" * 200,
    ):
        ntfy.write(BACK, forged)
    desk.look()
    assert [one.state for one in desk.context.incidents.all()] == ["open"]
    assert desk.alerter.silences.all() == []
    assert len(desk.phone) == 1
    assert desk.answers.forged == 13
    # Nor does what is no message, and nothing behind it is lost.
    ntfy.junk = b'{"event": 1}\n[]\nnull\n{"event":"message","id":{},"message":"x"}\n\xff\xfe\n'
    ntfy.write(BACK, genuine)
    desk.look()
    assert incident.state == "acknowledged"
    late = desk.button("Silence 1 h")
    desk.clock.jump(43200.0 - 3 * RARELY_S)
    desk.trouble(key="other")  # keeps the topic watched
    desk.clock.jump(3 * RARELY_S)
    press(late)
    desk.look()
    assert any("it has expired" in line for line in desk.said)
    assert desk.alerter.silences.all() == []
    desk.context.incidents.resolve(incident, desk.clock.now(), "well")
    assert desk.answers.buttons(_of(incident.id)) == desk.answers.buttons(_of("")) == []


def test_a_flood_holds_up_nothing_and_is_said(desk: Desk, ntfy: Ntfy) -> None:
    incident = desk.trouble()
    for number in range(1500):
        ntfy.write(BACK, f"mw1-ack-{incident.id}-zzzzzz-{number:016x}-{number:032x}")
        ntfy.write(BACK, "x" * 100)
    press(desk.button("Acknowledge"))
    looks = 0
    while incident.state == "open":
        desk.look()
        looks += 1
        assert looks <= 5
    assert "were not made by this box" in desk.answers.sentence()
    assert len([line for line in desk.said if "counts for nothing" in line]) == 20
    assert len(desk.phone) <= 2


def test_somebody_who_presses_all_day_is_not_followed(desk: Desk, ntfy: Ntfy) -> None:
    incident = desk.trouble()
    assert desk.answers._seal is not None
    for _ in range(3 * MOST_AN_HOUR):
        ends_at = desk.clock.now() + 3600.0
        ntfy.write(BACK, desk.answers._seal.token("log", incident.id, ends_at))
    desk.look(SOON_S)
    desk.until(lambda: len(desk.phone) == 1 + MOST_AN_HOUR, "the logs")
    desk.look()
    assert len(desk.phone) == 1 + MOST_AN_HOUR
    assert any("too many in an hour" in line for line in desk.said)


# ------------------------------------------------------------------------ when the topic is read


def test_it_is_read_often_then_rarely_then_not_at_all(desk: Desk, ntfy: Ntfy) -> None:
    desk.clock.jump(3600.0)
    desk.answers.tick()
    assert ntfy.reads == []  # there is nothing to answer
    desk.trouble()
    desk.look(SOON_S)
    desk.answers.tick()
    desk.clock.jump(SOON_S - 1.0)
    desk.answers.tick()
    assert len(ntfy.reads) == 1
    desk.look(1.0)
    desk.look(FRESH_S)
    desk.clock.jump(RARELY_S - 1.0)
    desk.answers.tick()
    assert len(ntfy.reads) == 3
    ntfy.status = 503
    desk.look(RARELY_S)
    words = "answers from the phone are not read: HTTP 503: Service Unavailable"
    assert desk.answers.sentence() == words
    assert BACK not in " ".join(desk.said)
    ntfy.status = 200
    desk.look(2 * RARELY_S)
    assert desk.answers.sentence() == ""
    desk.clock.jump(43200.0)
    desk.answers.tick()
    assert len(ntfy.reads) == 5


def _of(incident: str) -> Message:
    return Message("t", "b", "failure", incident)


# ------------------------------------------------------------------------ off, and the settings


def test_it_is_off_by_default(tmp_path: Path, ntfy: Ntfy) -> None:
    made = Desk(tmp_path, ntfy)
    made.close()
    loop = Loop(made.clock, lambda error: pytest.fail(repr(error)))
    config = parse(f'[alerts]\nurls = ["{ntfy.apprise}/{TOPIC}"]\n', "f")
    state = StateDir(tmp_path / "second")
    state.take()
    store = Store(state.store, state.reserve, state.root)
    context = Context(state, config, made.clock, store, Incidents(), Pump(loop, made.clock, print))
    alerter = Alerter(context, loop, print)
    answers = Answers(context, alerter, print, None)
    made.clock.jump(3600.0)
    answers.tick()
    assert alerter.outbox.buttons(_of("abcdef")) == []
    assert not state.answer_key.exists()
    assert answers.sentence() == ""
    alerter.outbox.close()
    store.close()
    loop.close()


def test_the_secret_is_the_owners_alone_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "answer_key"
    first = secret_of(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(first) == 32
    assert secret_of(path) == first
    assert secret_of(path, anew=True) != first
    path.write_text("short")
    assert len(secret_of(path)) == 32


def test_without_the_list_of_used_ones_none_of_before_counts(desk: Desk) -> None:
    incident = desk.trouble()
    button = desk.button("Acknowledge")
    desk.store.put("box", "answers", {"used": "broken"}, desk.clock.now())
    desk.store.flush()
    desk.restart()
    desk.trouble(key="other")
    press(button)
    desk.look()
    assert incident.state == "open"
    assert all(one.state == "open" for one in desk.context.incidents.all())
    assert any("it was not made by this box" in line for line in desk.said)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('topic = "ntfys://ntfy.sh/x"', "is no topic of ntfy"),
        ('topic = "https://ntfy.sh/"', "is no topic of ntfy"),
        ('topic = "https://ntfy.sh/a/b"', "is no topic of ntfy"),
        ('topic = "https://ntfy.sh/a,b"', "is no topic of ntfy"),
        ('topic = "https://ntfy.sh/a"\nactions = []', "is empty"),
        ('actions = ["end"]', "is none of ack, silence, log"),
        ('expires_s = "30d"', 'between "1m" and "7d"'),
    ],
)
def test_settings_that_are_wrong(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=r"box.toml:") as caught:
        parse(f"[answers]\n{text}\n", "box.toml")
    assert words in str(caught.value)


def test_the_topic_is_a_secret() -> None:
    config = parse('[answers]\ntopic = "https://ntfy.sh/my-own-topic"\n', "f")
    assert config.secret
    assert {key: value for key, value, _ in rows(config)}["answers.topic"] == "set"
    assert bare("https://bob:pw@ntfy.sh/t") == "https://ntfy.sh/t"


# ------------------------------------------------------------------------ the token


@given(
    st.sampled_from(["ack", "silence", "log"]),
    st.from_regex(r"[0-9a-f]{6}", fullmatch=True),
    st.floats(1.0, 1e6),
)
def test_a_token_says_what_it_was_made_for_once(action: str, incident: str, for_s: float) -> None:
    seal = Seal(b"k")
    token = seal.token(action, incident, NOW + for_s + 1.0)
    asked = seal.open(token, NOW)
    assert isinstance(asked, Answer)
    assert (asked.action, asked.incident) == (action, incident)
    assert seal.open(token, NOW) == "it was used before"
    assert Seal(b"k").open(token, NOW + for_s + 2.0) == "it has expired"


@given(st.integers(0, 200), st.characters(codec="ascii"))
def test_no_changed_token_opens(place: int, other: str) -> None:
    token = Seal(b"k").token("ack", "abc123", NOW + 60.0)
    place %= len(token)
    changed = token[:place] + other + token[place + 1 :]
    if changed != token:
        assert isinstance(Seal(b"k").open(changed, NOW), str)


@given(st.text())
def test_no_text_opens(text: str) -> None:
    assert isinstance(Seal(b"k").open(text, NOW), str)


def test_what_was_used_is_bounded() -> None:
    seal = Seal(b"k")
    for _ in range(KEPT):
        assert isinstance(seal.open(seal.token("ack", "abc123", NOW + 60.0), NOW), Answer)
    assert seal.open(seal.token("ack", "abc123", NOW + 60.0), NOW) == "too many were used"
    assert isinstance(seal.open(seal.token("ack", "abc123", NOW + 200.0), NOW + 61.0), Answer)
    assert len(seal.used) == 1


@given(st.lists(st.binary(max_size=3000), max_size=40))
def test_whatever_stands_in_a_topic_is_read(chunks: list[bytes]) -> None:
    read = polls.read(chunks)
    assert len(read["tokens"]) <= polls.TOKENS


def test_the_last_lines_fit() -> None:
    lines = [f"line {n} " + "x" * n for n in range(300)]
    told = last_lines(lines)
    assert len(told) <= 900
    assert told.splitlines()[-1].startswith("line 299 xxx")
    assert last_lines([]) == "The log has no lines that are known."
