from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.report import channels

URLS = {
    "ntfy": "ntfy://h/t",
    "pover": f"pover://{'u' * 30}@{'a' * 30}",
    "gotify": f"gotify://h/{'A' * 15}",
    "bark": "bark://h/KEY",
    "prowl": f"prowl://{'a' * 40}",
    "join": f"join://{'a' * 32}/{'d' * 32}",
    "psafer": f"psafer://{'a' * 20}",
    "opsgenie": f"opsgenie://{'a' * 36}",
    "smseagle": "smseagle://token@h/15551231234",
    "lametric": f"lametric://{'a' * 64}@192.168.0.1",
    "mailto": "mailto://u:p@example.com",
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Apprise's own imports
@pytest.mark.parametrize("service", channels.PRIORITIES)
def test_apprise_takes_every_priority(service: str) -> None:
    import apprise

    seen = set[str]()
    for kind in ("failure", "warning", "success", "info"):
        url = channels.graded(URLS[service], kind)
        target = apprise.Apprise.instantiate(url)
        if target is None and (service, kind) == ("bark", "failure"):
            continue  # Apprise 1.7
        assert target is not None, url
        told: Any = target
        seen.add(str(told.url()))
    assert len(seen) >= 2  # it was not thrown away


def test_the_url_of_the_person_wins() -> None:
    mail = "mailtos://u:p@h?to=a@b.c&+x-priority=3"
    assert "Priority" not in channels.graded(mail, "failure").replace("x-priority", "")
    assert channels.graded("json://h:1/a?x=1", "failure") == "json://h:1/a?x=1"
    assert (
        channels.graded("ntfys://h/t", "failure") == "ntfys://h/t?priority=max&tags=rotating_light"
    )


def test_a_broker_has_to_confirm_whatever_the_kind() -> None:
    for kind in ("failure", "warning", "success", "info"):
        assert channels.graded("mqtts://u:p@h/t", kind) == "mqtts://u:p@h/t?qos=1"
        assert channels.graded("mqtt://h/t?qos=0", kind) == "mqtt://h/t?qos=0"


@given(
    st.text(max_size=400),
    st.text(max_size=1500),
    st.sampled_from(["x", "discord", "ntfy", "wecombot"]),
)
def test_nothing_is_longer_than_it_may_be(title: str, body: str, service: str) -> None:
    _, words = channels.fitted(service, title[:250], body, 2000, 250)
    size = len(words.encode("utf-8", "replace")) if service in channels.BYTES else len(words)
    assert size <= channels.BYTES.get(service, 2000)


@given(st.text(max_size=300), st.text(max_size=300))
def test_one_sms(title: str, body: str) -> None:
    text = channels.sms(title, body)
    assert len(text) <= 160


def test_an_sms_counts_as_phones_do() -> None:
    assert len(channels.sms("a" * 200, "")) == 160
    assert len(channels.sms("{" * 200, "")) == 80
    assert len(channels.sms("损" * 200, "")) == 70
    assert channels.sms("title…", "x\nFirst step: look") == "title...\nFirst step: look"


def test_the_first_step_and_the_incident_are_never_cut_out() -> None:
    body = "\n".join(["x" * 900, "y" * 900, "First step: look", "Incident 1"])
    cut = channels.cut(body, 1000)
    assert len(cut) <= 1000
    assert cut.endswith("…\nFirst step: look\nIncident 1")
