"""Hours, digests, routes and the heartbeat in the configuration, and what is said about a mistake."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from middlewatch.daemon.config import times
from middlewatch.daemon.config.load import load, parse, rows
from middlewatch.daemon.system.errors import ConfigError

URL = "https://hc-ping.com/5bf66975-d4c7-4bf5-bcc8-b8d8a82ea278"
BERLIN = times.zone_of("Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            '[digest]\nat = ["8"]',
            """box.toml:2: digest.at cannot read '8'; write each time like "08:00" """,
        ),
        ('[digest]\nat = ["24:00"]', 'write each time like "08:00"'),
        ('[digest]\nat = "08:00"', "box.toml:2: digest.at"),
        ('[digest]\nevery = "6"', """digest.every cannot read '6'; write it like "6h" """),
        ('[digest]\nevery = "5m"', "ten minutes"),
        ('[alerts]\nquiet = "22-7"', 'write it like "22:00-07:00"'),
        ('[alerts]\nquiet = "22:00-22:00"', 'write it like "22:00-07:00"'),
        ('[alerts]\nzone = "Berlin"', 'write it like "Europe/Berlin"'),
        ('[alerts]\nzone = "../etc/passwd"', 'write it like "Europe/Berlin"'),
        ('[alerts]\nproxy = "proxy:3128"', "alerts.proxy is no proxy"),
        ('[heartbeat]\nurl = "hc-ping.com/x"', "heartbeat.url is no ping URL"),
        ('[heartbeat]\nurl = "https:///x"', "heartbeat.url is no ping URL"),
        ('[heartbeat]\nevery_s = "1s"', 'heartbeat.every_s must be "10s" at least'),
        ('[heartbeat]\ngrace_s = "30s"', "heartbeat.grace_s must be as long as every_s"),
        ('[routes.pager]\nhours = "night"', "routes.pager.hours cannot read 'night'"),
        ('[routes.pager]\nseverity = "critical"', "did you mean 'min_severity'?"),
        ('[routes."a b"]\nhours = ""', "is no tag"),
        ("[routes]\npager = 1", "must be a table, like [routes.pager]"),
    ],
)
def test_a_mistake_is_told_with_what_is_wanted(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text, "box.toml")
    assert words.strip() in str(caught.value)


def test_what_is_fine() -> None:
    config = parse(
        '[alerts]\nzone = "Asia/Shanghai"\nquiet = "22:00-07:00"\nproxy = "socks5h://u:p@[::1]:1080"\n'
        f'[digest]\nat = ["08:00", "20:30"]\nevery = "6h"\n[heartbeat]\nurl = "{URL}"\n'
        '[routes.pager]\nmin_severity = "critical"\nclasses = ["disk_*"]\n',
        "f",
    )
    assert config.digest.at == ("08:00", "20:30")
    assert (config.heartbeat.every_s, config.heartbeat.grace_s) == (60.0, 300.0)
    assert config.routes["pager"].classes == ("disk_*",)


def test_secrets_are_not_shown(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f'[heartbeat]\nurl = "{URL}"\n[alerts]\nproxy = "http://bob:hunter22@p:1"\n')
    file.chmod(0o600)
    shown = repr(list(rows(load(file))))
    assert "hunter22" not in shown
    assert URL not in shown
    assert "('heartbeat.url', 'set'" in shown


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


@pytest.mark.parametrize(
    ("time", "after", "comes"),
    [
        ("08:00", "2026-03-28T07:59+01:00", "2026-03-28T08:00+01:00"),
        ("08:00", "2026-03-28T08:00+01:00", "2026-03-29T08:00+02:00"),
        ("02:30", "2026-03-28T03:00+01:00", "2026-03-29T03:30+02:00"),  # left out that day
        ("02:30", "2026-10-24T03:00+02:00", "2026-10-25T02:30+02:00"),  # twice that day
        ("02:30", "2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00"),
        ("00:00", "2026-12-31T23:59+01:00", "2027-01-01T00:00+01:00"),
    ],
)
def test_the_next_one_by_the_clock_of_a_person(time: str, after: str, comes: str) -> None:
    assert times.next_after([time], at(after), BERLIN) == at(comes)


def test_the_first_of_several() -> None:
    noon = at("2026-06-01T12:00+02:00")
    assert times.next_after(["08:00", "20:00"], noon, BERLIN) == at("2026-06-01T20:00+02:00")
    assert times.next_after([], noon, BERLIN) is None


def test_hours_over_midnight_and_not() -> None:
    night = [at(f"2026-06-01T{hour:02}:00+02:00") for hour in (21, 22, 23, 0, 6, 7)]
    assert [times.within("22:00-07:00", t, BERLIN) for t in night] == [
        False, True, True, True, True, False,
    ]  # fmt: skip
    assert [times.within("08:00-22:00", t, BERLIN) for t in night[:2]] == [True, False]
    assert not times.within("", night[1], BERLIN)
