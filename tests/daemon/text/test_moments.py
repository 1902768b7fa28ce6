"""Points in time for people."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime

import pytest

from middlewatch.daemon.text.moments import ahead, local, past


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


NOW = at("2026-11-26T08:00:30+00:00")


@pytest.fixture(autouse=True)
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", getattr(request, "param", "UTC"))
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize(
    ("then", "words"),
    [
        ("2026-11-26T07:54:00+00:00", "07:54 UTC (6 min ago)"),
        ("2026-11-26T08:00:28+00:00", "08:00 UTC (just now)"),
        ("2026-11-25T23:54:00+00:00", "25 Nov 23:54 UTC (8 h 6 min ago)"),
        ("2025-12-31T23:54:00+00:00", "31 Dec 2025 23:54 UTC (329 d 8 h ago)"),
        ("2026-11-26T08:00:40+00:00", "08:00 UTC (just now)"),
    ],
)
def test_what_is_past(then: str, words: str) -> None:
    assert past(at(then), NOW) == words


def test_what_is_to_come() -> None:
    assert ahead(at("2026-11-26T09:16:31+00:00"), NOW) == "09:16 UTC (in 1 h 16 min)"
    assert ahead(at("2026-11-27T09:16:31+00:00"), NOW) == "27 Nov 09:16 UTC (in 25 h 16 min)"


# As POSIX writes a zone: that of a name is in tzdata, which a bare box lacks.
@pytest.mark.parametrize(
    ("zone", "words"),
    [
        ("CET-1CEST,M3.5.0,M10.5.0/3", "08:54 CET"),
        ("IST-5:30", "13:24 IST"),
        ("<-03>3", "04:54 -03"),
    ],
    indirect=["zone"],
)
def test_the_zone_of_the_box_is_named(zone: None, words: str) -> None:
    assert local(at("2026-11-26T07:54:00+00:00"), NOW) == words
