"""The notifier child against services that check what the real ones check, through Apprise as it is."""

from __future__ import annotations

import base64
import io
import json
import re
import smtplib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from PIL import Image

from middlewatch.daemon.report.picture import HEIGHT, WIDTH

from ...fakes.mailbox import Mailbox, files_of, text_of
from ...fakes.notifier import all_at_once, jobs_of
from ...fakes.receiver import Receiver
from ...fakes.services import PNG, Request, Services, telegram_text

TITLE = "[CRITICAL] run7 on box3: loss is NaN since step 4210"
BODY = """\
Since 07:54 UTC (6 min ago)
Proof: train.py:7: in <module> & __init__ of *args, _private_ and ~~gone~~
Last good checkpoint: /data/my__run__v2/step_4100 (step 4100), full checked
First step: look: `grep -n -i -m 1 -w nan /data/a__b__c.log`
Incident 3fa2c1: middlewatch explain 3fa2c1"""
CHINESE = "日志：数据加载失败，文件不存在 /数据/训练.log"

TELEGRAM = "tgram://123456789:" + "A" * 35 + "/12345"
SLACK = "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#general"
DISCORD = "discord://1234567890/abcdefghijklmnop"
PUSHOVER = f"pover://{'u' * 30}@{'a' * 30}"
SERVERCHAN = "schan://SCT12345"
WECOM = "wecombot://abcdefgh-1234"
TWILIO = f"twilio://AC{'a' * 32}:{'b' * 32}@15551230000/15551231234"


@pytest.fixture
def services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Services]:
    made = Services(tmp_path)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(made.certificate))
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    yield made
    made.close()


def push(services: Services, url: str, kind: str = "failure", **more: Any) -> list[Request]:
    """What a service got of one push, which it has taken."""
    words = {"title": TITLE, "body": BODY, "kind": kind, **more}
    before = len(services.got)
    (answer,) = all_at_once([job | {"proxy": services.proxy} | words for job in jobs_of([url])])
    assert (answer["ok"], answer["error"]) == (True, ""), answer
    return services.got[before:]


@pytest.fixture
def facts(tmp_path: Path) -> str:
    points = [[float(n), 4.0 - n / 100] for n in range(200)] + [[200.0, None]]
    incident = {
        "id": "3fa2c1",
        "severity": "critical",
        "class": "loss_nan",
        "summary": "loss is NaN",
        "state": "open",
        "opened_at": "2026-11-22T07:54:00+00:00",
        "count": 1,
        "evidence": [{"kind": "log", "text": f"train.log:4210: {CHINESE}", "at": None}],
        "remedy": {"id": "loss_nan", "first_step": "look", "safe": True},
    }
    curve = {"metric": "train_loss", "points": points}
    path = tmp_path / "facts.json"
    path.write_text(json.dumps({"incident": incident, "curve": curve, "moment_step": 200.0}))
    return str(path)


def test_telegram_shows_every_sign_of_a_stack(services: Services) -> None:
    (got,) = push(services, TELEGRAM, body=f"{BODY}\n{CHINESE}")
    shown = telegram_text(got.fields["text"])
    assert shown.replace("\r\n", "\n") == f"{TITLE}\n{BODY}\n{CHINESE}"


def test_the_fake_telegram_refuses_what_the_real_one_refuses() -> None:
    for broken in ("in <module>", "<b>open", "a</b>", "<b></b>"):
        with pytest.raises(ValueError):
            telegram_text(broken)


def test_slack_gets_every_sign_of_a_stack(services: Services) -> None:
    (got,) = push(services, SLACK)
    (part,) = got.fields["attachments"]
    assert part["text"] == BODY.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert part["title"] == TITLE


def test_discord_shows_marks_as_they_are_and_commands_as_code(services: Services) -> None:
    (got,) = push(services, DISCORD)
    content = got.fields["content"].replace("\r\n", "\n")
    assert "`grep -n -i -m 1 -w nan /data/a__b__c.log`" in content
    assert "\\_\\_init\\_\\_ of \\*args, \\_private_" in content
    assert "my\\_\\_run\\_\\_v2" in content
    bare = re.sub(r"`[^`]*`", "", content)
    assert not re.search(r"(?<!\\)(?:\*\w|__|~~|(?<!\w)_\w)", bare)
    # What Discord shows: a backslash before a sign is not seen.
    assert re.sub(r"\\([\W_])", r"\1", content) == f"{TITLE}\n{BODY}"


def test_serverchan_keeps_lines_apart_and_the_whole_title(services: Services) -> None:
    (got,) = push(services, SERVERCHAN, body=f"{BODY}\n{CHINESE}")
    assert got.fields["title"] == TITLE[:31] + "…"
    first, *rest = got.fields["desp"].split("  \n")
    assert first == "[CRITICAL] run7 on box3: loss is NaN since step 4210".replace("[", "\\[", 1)
    assert [rest[0], rest[-1]] == ["Since 07:54 UTC (6 min ago)", CHINESE]
    assert "<module" not in got.fields["desp"].replace("\\<", "")


def test_a_critical_pushover_is_repeated_until_somebody_acknowledges_it(services: Services) -> None:
    (got,) = push(services, PUSHOVER)
    sent = {name: got.fields.get(name) for name in ("priority", "retry", "expire")}
    assert sent.pop("retry") in ("60", "900")  # Apprise 1.7 knows no other than its own
    assert sent == {"priority": "2", "expire": "3600"}
    for kind in ("warning", "success", "info"):
        (got,) = push(services, PUSHOVER, kind)
        assert got.fields["priority"] == "0"
        assert "retry" not in got.fields
    (got,) = push(services, PUSHOVER + "?priority=1")
    assert got.fields["priority"] == "1"


def test_no_service_gets_more_than_it_takes(services: Services) -> None:
    long = "\n".join([*(f"Proof: 行 {n}: {CHINESE}" for n in range(80)), *BODY.split("\n")[-2:]])
    for url in (TELEGRAM, DISCORD, PUSHOVER, SERVERCHAN, WECOM):
        (got,) = push(services, url, body=long)
        assert got.answer == 200
        assert "3fa2c1" in got.body.decode("utf-8", "replace"), url


def test_an_sms_is_one_and_says_what_happened(services: Services) -> None:
    (got,) = push(services, TWILIO)
    assert got.fields["Body"].startswith(TITLE + "\nFirst step: look: 'grep")
    assert len(got.fields["Body"]) <= 160
    (got,) = push(services, TWILIO, language="zh", trouble="loss_nan", run="run7")
    assert got.fields["Body"].startswith("[严重] run7 @ box3: 自第 4210 步起损失为 NaN")
    assert len(got.fields["Body"]) <= 70


def test_telegram_gets_picture_and_text(services: Services, facts: str) -> None:
    *first, document = push(services, TELEGRAM, facts=facts)
    photo = next(got for got in first if got.files)
    assert photo.files["photo"][2].startswith(PNG)
    # In one message, or with Apprise 1.7 before it.
    words = [got.fields.get("caption") or got.fields.get("text") for got in first]
    assert telegram_text(next(filter(None, words))).startswith(TITLE)
    assert CHINESE in document.files["document"][2].decode()


def test_discord_gets_both(services: Services, facts: str) -> None:
    got = push(services, DISCORD, facts=facts)
    names = [name for one in got for name, _, _ in one.files.values()]
    assert names == ["middlewatch-3fa2c1-loss.png", "middlewatch-3fa2c1.txt"]


def test_pushover_gets_the_picture_only_and_once(services: Services, facts: str) -> None:
    (got,) = push(services, PUSHOVER, facts=facts)
    ((name, _, data),) = got.files.values()
    assert (name, data[:8]) == ("middlewatch-3fa2c1-loss.png", PNG)


def test_who_does_not_take_the_files_gets_the_words(services: Services, facts: str) -> None:
    services.refuse_files = True
    got = push(services, PUSHOVER, facts=facts)
    assert [one.answer for one in got] == [413, 200]
    assert not got[-1].files


def test_without_facts_that_can_be_read_the_words_go_out(
    services: Services, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text('{"incident": {}}')
    for path in (bad, tmp_path / "none.json"):
        (got,) = push(services, PUSHOVER, facts=str(path))
        assert not got.files


def test_ntfy_bark_and_gotify_get_their_priority(receiver: Receiver) -> None:
    where = f"127.0.0.1:{receiver.port}"
    seen: list[Any] = []
    for kind in ("failure", "warning", "success", "info"):
        urls = [f"ntfy://{where}/topic", f"bark://{where}/KEY", f"gotify://{where}/{'A' * 15}"]
        jobs = jobs_of(urls, title=TITLE, body=BODY, kind=kind)
        for job in jobs:
            (answer,) = all_at_once([job])
            assert answer["ok"], answer
        ntfy, bark, gotify = receiver.got[-3:]
        assert (ntfy.data["title"], ntfy.data["message"]) == (TITLE, BODY)
        level = bark.data["level"]
        if kind == "failure" and level == "timeSensitive":
            level = "critical"  # Apprise 1.7 does not know it
        seen.append((ntfy.headers.get("X-Priority"), level, gotify.data["priority"]))
        seen.append(ntfy.headers["X-Tags"])
    assert seen == [
        ("max", "critical", 10),
        "rotating_light",
        ("high", "timeSensitive", 5),
        "warning",
        (None, "active", 5),
        "white_check_mark",
        (None, "active", 3),
        "information_source",
    ]


def test_ntfy_gets_the_picture_in_one_push_if_its_url_is_not_too_long(
    receiver: Receiver, facts: str
) -> None:
    url = f"ntfy://127.0.0.1:{receiver.port}/topic"
    (answer,) = all_at_once(jobs_of([url], title=TITLE, body=BODY, facts=facts))
    assert answer["ok"]
    (got,) = receiver.got
    asked = parse_qs(urlsplit(got.path).query)
    assert (asked["title"], asked["message"]) == ([TITLE], [BODY])
    assert asked["filename"] == ["middlewatch-3fa2c1-loss.png"]
    assert got.text.startswith("\ufffdPNG")
    long = CHINESE * (1000 // len(CHINESE))
    (answer,) = all_at_once(jobs_of([url], title=TITLE, body=long, facts=facts))
    assert answer["ok"]
    assert receiver.got[-1].data["message"] == long


def test_a_mail_has_the_words_the_files_and_its_importance(facts: str) -> None:
    title, body = f"{TITLE} {CHINESE}", f"{BODY}\n{CHINESE}"
    with Mailbox() as box:
        url = f"mailto://127.0.0.1:{box.port}?from=a@b.example&to=c@d.example&mode=insecure"
        (answer,) = all_at_once(jobs_of([url], title=title, body=body, kind="failure", facts=facts))
    assert answer["ok"], answer
    (mail,), (to,) = box.got, box.sent_to
    assert (mail["Subject"], mail["X-Priority"], mail["Importance"]) == (title, "1", "high")
    assert to == ["c@d.example"]
    assert [line for line in text_of(mail).splitlines() if line] == body.split("\n")
    files = files_of(mail)
    assert sorted(files) == ["middlewatch-3fa2c1-loss.png", "middlewatch-3fa2c1.txt"]
    with Image.open(io.BytesIO(files["middlewatch-3fa2c1-loss.png"])) as picture:
        picture.load()  # raises where a byte is wrong
        assert (picture.format, picture.size) == ("PNG", (WIDTH, HEIGHT))
    evidence = files["middlewatch-3fa2c1.txt"]
    # The mark says the encoding, which Apprise does not.
    assert evidence.startswith(b"\xef\xbb\xbfEvidence of incident 3fa2c1")
    assert CHINESE in evidence.decode("utf-8")


@pytest.mark.parametrize(
    ("mail", "why"),
    [
        ("Subject: x\r\n\r\n日志\r\n", "8-bit data"),
        (
            "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nx\r\n",
            "CloseBoundaryNotFoundDefect",
        ),
        ("Content-Transfer-Encoding: base64\r\n\r\nA*A\r\n", "InvalidBase64CharactersDefect"),
    ],
    ids=("bytes", "no end", "base64"),
)
def test_the_mailbox_refuses_what_is_not_well_made(mail: str, why: str) -> None:
    with (
        Mailbox() as box,
        smtplib.SMTP("127.0.0.1", box.port, timeout=60) as client,
        pytest.raises(smtplib.SMTPDataError, match=why),
    ):
        client.sendmail("a@b.example", ["c@d.example"], mail.encode())
    assert not box.got


def test_what_the_person_wrote_in_the_url_is_left(receiver: Receiver) -> None:
    url = f"ntfy://127.0.0.1:{receiver.port}/topic?priority=low&tags=skull"
    (answer,) = all_at_once(jobs_of([url], kind="failure"))
    assert answer["ok"]
    assert receiver.got[-1].headers["X-Priority"] == "low"
    assert receiver.got[-1].headers["X-Tags"] == "skull"


def test_a_json_receiver_gets_files_that_open(receiver: Receiver, facts: str) -> None:
    (answer,) = all_at_once(jobs_of([receiver.url], title=TITLE, body=BODY, facts=facts))
    assert answer["ok"]
    picture, text = receiver.got[-1].data["attachments"]
    assert (picture["mimetype"], text["mimetype"]) == ("image/png", "text/plain")
    assert base64.b64decode(picture["base64"]).startswith(PNG)
    assert CHINESE in base64.b64decode(text["base64"]).decode()
    assert (receiver.got[-1].data["title"], receiver.got[-1].data["message"]) == (TITLE, BODY)
