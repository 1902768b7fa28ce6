"""The notifier child against a real MQTT broker, read back by another program than sent it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from ...fakes import mosquitto
from ...fakes.mosquitto import Message, Mosquitto
from ...fakes.notifier import all_at_once, jobs_of

TITLE = "[CRITICAL] run7 on box3: loss is NaN since step 4210"
BODY = """\
Proof: train.py:7: in <module> & __init__ of *args, _private_ and ~~gone~~
日志：数据加载失败，文件不存在 /数据/训练.log 🔥
First step: look: `grep -n -i -m 1 -w nan /data/a__b__c.log`
Incident 3fa2c1: middlewatch explain 3fa2c1"""

PATIENT = "?rto=25"
"""Seconds that Apprise waits for the broker: 4 are few on a busy box."""


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Mosquitto]:
    if why := mosquitto.missing():
        pytest.skip(why)
    with Mosquitto(tmp_path / "broker") as made:
        yield made


def push(url: str, **words: str) -> dict[str, Any]:
    module = "middlewatch.daemon.report.notifier_worker"
    # The real worker, with more time for one job: a busy box takes many seconds to load Apprise.
    worker = f"from {module} import main; import {module} as m; m.JOB_S = 240.0; main()"
    jobs = jobs_of([url], **{"title": TITLE, "body": BODY, **words})
    (answer,) = all_at_once(jobs, (sys.executable, "-c", worker))
    return answer


@pytest.mark.system
def test_every_kind_arrives_once_whole_and_in_order(broker: Mosquitto) -> None:
    broker.subscribe("phone", "watch/#")
    kinds = ("failure", "warning", "success", "info")
    for kind in kinds:
        answer = push(broker.url("watch/box3", query=PATIENT), title=f"{kind} {TITLE}", kind=kind)
        assert answer["ok"], answer
    # Kept by the broker in the order in which they came: a second copy of one would be among them.
    assert broker.read("phone", "watch/#", len(kinds)) == [
        Message("watch/box3", 1, False, f"{kind} {TITLE}\r\n{BODY}") for kind in kinds
    ]


@pytest.mark.system
def test_what_the_url_says_about_quality_and_retaining_is_done(broker: Mosquitto) -> None:
    broker.subscribe("phone", "#")
    for query in (f"{PATIENT}&qos=0", f"{PATIENT}&qos=2&retain=yes"):
        answer = push(broker.url("box3", query=query), kind="failure")
        assert answer["ok"], answer
    got = broker.read("phone", "#", 2)
    assert [one.qos for one in got] == [0, 2]
    if version("apprise").startswith("1."):
        return  # the first releases do not know `retain`
    # Who subscribes afterwards gets the newest that is to be retained.
    assert broker.read("", "#", 1) == [Message("box3", 2, True, f"{TITLE}\r\n{BODY}")]


@pytest.mark.system
def test_a_wrong_password_is_refused_for_good_and_said(broker: Mosquitto) -> None:
    for _ in range(20):  # on a busy box the answer may come after Apprise has stopped waiting
        answer = push(broker.url("box3", login="bob:geheim22"), kind="failure")
        if answer["refused"]:
            break
    assert (answer["ok"], answer["refused"]) == (False, True)
    assert answer["error"] == "the broker refused the user name or the password"


@pytest.mark.system
def test_what_the_broker_has_not_confirmed_is_not_delivered(broker: Mosquitto) -> None:
    with broker.frozen():
        answer = push(broker.url("box3"), kind="failure")
    assert (answer["ok"], answer["refused"]) == (False, False)
    assert mosquitto.PASSWORD not in answer["error"]


def test_a_service_whose_package_is_not_installed_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "paho.py").write_text("raise ImportError\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    answer = push("mqtt://box3/topic")
    assert not answer["ok"]
    assert answer["error"].startswith("it wants paho-mqtt")
    assert answer["error"].endswith(", which is not installed")
    words = ("alert", "add", "-", "--state-dir", str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-m", "middlewatch.daemon", *words],
        input="mqtt://bob:geheim22@box3/topic\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "mqtt:// wants paho-mqtt" in done.stderr
    assert "geheim22" not in done.stdout + done.stderr
