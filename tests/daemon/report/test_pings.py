"""How each service wants to be pinged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from middlewatch.daemon.report.pings import WORDS, kind_of, request_of

from ...fakes.healthchecks import Healthchecks
from ...fakes.notifier import one_by_one

HC = "https://hc-ping.com/5bf66975-d4c7-4bf5-bcc8-b8d8a82ea278"
KUMA = "https://kuma.example.org/api/push/TOKEN?status=up&msg=OK&ping="
CRONITOR = "https://cronitor.link/p/KEY/box3"


@pytest.fixture
def service() -> Iterator[Healthchecks]:
    made = Healthchecks(60.0, 60.0)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        (HC, "healthchecks"),
        ("https://checks.example.org/ping/uuid", "healthchecks"),
        ("https://hc-ping.com/KEY/cronitor.link", "healthchecks"),
        (KUMA, "uptime_kuma"),
        (CRONITOR, "cronitor"),
    ],
)
def test_the_kind_by_the_url(url: str, kind: str) -> None:
    assert kind_of(url, "auto") == kind
    assert kind_of(url, "uptime_kuma") == "uptime_kuma"


@pytest.mark.parametrize(
    ("url", "signal", "asked"),
    [
        (HC, "success", ("POST", HC, "a\nb")),
        (HC, "fail", ("POST", f"{HC}/fail", "a\nb")),
        (f"{HC}/", "start", ("POST", f"{HC}/start", "a\nb")),
        (f"{HC}?create=1", "log", ("POST", f"{HC}/log?create=1", "a\nb")),
        (KUMA, "success", ("GET", f"{KUMA.partition('?')[0]}?status=up&msg=a+b", "")),
        (KUMA, "fail", ("GET", f"{KUMA.partition('?')[0]}?status=down&msg=a+b", "")),
        (KUMA, "log", None),
        (KUMA, "start", None),  # "up" would be a success that nobody has seen
        (CRONITOR, "start", ("GET", f"{CRONITOR}?state=run&message=a+b", "")),
        (CRONITOR, "success", ("GET", f"{CRONITOR}?state=complete&message=a+b", "")),
        (f"{CRONITOR}?env=x", "fail", ("GET", f"{CRONITOR}?env=x&state=fail&message=a+b", "")),
    ],
)
def test_what_is_sent(url: str, signal: str, asked: tuple[str, str, str] | None) -> None:
    assert request_of(url, kind_of(url, "auto"), signal, "a\nb") == asked


def test_a_message_in_a_url_is_short() -> None:
    told = request_of(KUMA, "uptime_kuma", "fail", "x" * 5000)
    assert told is not None
    assert len(told[1]) < WORDS + 100


def job(url: str, signal: str = "success") -> dict[str, Any]:
    words = {"ping": signal, "service": "auto", "body": "fine\nblind: nothing"}
    return {"id": signal, "url": url, "label": "heartbeat", **words}


def test_a_real_service_takes_them(service: Healthchecks) -> None:
    signals = ["start", "success", "log", "fail"]
    answers = list(one_by_one(job(service.url, one) for one in signals))
    assert all(answer["ok"] for answer in answers)
    assert service.signals == signals
    assert service.pings[0].body == "fine\nblind: nothing"


def test_the_first_ping_may_make_the_check(service: Healthchecks) -> None:
    service.missing = True
    unknown, *made = one_by_one(
        [job(service.url), job(f"{service.url}?create=1", "start"), job(service.url)]
    )
    assert (unknown["ok"], unknown["refused"]) == (False, True)
    assert [(one["ok"], one["error"]) for one in made] == [(True, ""), (True, "")]
    assert service.signals == ["start", "success"]


def test_what_is_not_accepted_says_why_and_not_where(service: Healthchecks) -> None:
    wrong = service.url[:-1] + "0"
    service_down = "http://127.0.0.1:1/secret-part"
    tls = service.url.replace("http:", "https:")
    lost, down, no_tls = one_by_one(map(job, (wrong, service_down, tls)))
    assert (lost["ok"], lost["refused"], lost["error"]) == (False, True, "HTTP 404: Not Found")
    assert (down["ok"], down["refused"]) == (False, False)
    assert "ConnectionError" in down["error"]
    assert "SSLError" in no_tls["error"]
    assert not any(
        "secret-part" in str(one) or service.uuid in str(one) for one in (lost, down, no_tls)
    )
