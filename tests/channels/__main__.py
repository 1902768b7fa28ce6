"""Writes docs/channels.md: one push as each service shows it, made by the product and received on loopback.

The message is composed from an incident by the daemon's own code, sent by the real notifier child through
Apprise, and received by servers that check what the services check (``tests/fakes``). What is written down is
what they got, with the markup of each service undone as its app undoes it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.config.schema import Alerts
from middlewatch.daemon.judge.incident import Change, Incident
from middlewatch.daemon.report.deliveries import words_of
from middlewatch.daemon.report.messages import compose
from middlewatch.sentinels.handbook import page
from middlewatch.sentinels.kit import CheckpointSeen, Evidence, Severity

from ..fakes import mosquitto
from ..fakes.mailbox import Mailbox, files_of, text_of
from ..fakes.notifier import all_at_once, jobs_of
from ..fakes.ntfy import Ntfy
from ..fakes.receiver import Receiver
from ..fakes.services import Request, Services, telegram_text

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "channels.md"
SINCE, NOW = 1_795_500_000.0, 1_795_500_020.0
WORDS = "KeyError: 'weight' in <module> of *my*_loader_"
HEAD = """\
<!-- Generated: scripts/show-channels -->
# What each service shows

One push about one incident, as it arrived at each service. The daemon's own code composed it, the real notifier sent it through
Apprise, and servers on loopback received it that check what the services check (length, markup, files). The words
are given as the app shows them, with the service's markup undone; the rest is what the request said.
`scripts/show-channels` makes this page; `scripts/show-channels --check` says whether it is still true.
"""


def job(**settings: Any) -> dict[str, Any]:
    """The push, as the outbox gives it to the notifier."""
    incident = Incident(
        "3fa2c1", "run7-5db0", "python_exception", "crash", "end", Severity.CRITICAL, "open", SINCE, SINCE,
        f"the run ended with an exception: {WORDS}", fatal=True,
        evidence=[Evidence("log", f"/data/run7/train.log:4210: {WORDS}", SINCE)],
        details={"exception": "KeyError", "message": "'weight'"},
    )  # fmt: skip
    save = CheckpointSeen(
        SINCE - 300, "/data/run7/my__run__v2/step_4100", SINCE - 300, 900_000_000, 4, "torch",
        4100.0, state="ok", level="finite",
    )  # fmt: skip
    message = compose(
        Change("opened", incident), "run7", "box3", page("python_exception"), [save], NOW,
        spec=RunSpec(name="run7", logs=("/data/run7/train.log",)),
    )  # fmt: skip
    return words_of(message, Alerts(**settings)) | {"run": "run7"}


def facts(folder: str) -> str:
    """What the files of the push are drawn from."""
    points = [[float(n), 4.0 - n / 1500] for n in range(0, 4210, 30)]
    incident = {
        "id": "3fa2c1", "severity": "critical", "class": "python_exception", "summary": WORDS,
        "state": "open", "opened_at": "2026-11-25T00:00:00+00:00", "count": 1,
        "evidence": [{"kind": "log", "text": WORDS, "at": None}],
        "remedy": {"id": "python_exception", "first_step": "look", "safe": True},
    }  # fmt: skip
    path = Path(folder) / "facts.json"
    curve = {"metric": "train_loss", "points": points}
    path.write_text(json.dumps({"incident": incident, "curve": curve, "moment_step": 4200.0}))
    return str(path)


def send(url: str, **more: Any) -> None:
    """One push through the real notifier child."""
    (answer,) = all_at_once([one | more for one in jobs_of([url])])
    if not answer["ok"]:
        raise SystemExit(f"{url.partition('://')[0]}: {answer['error']}")


Shown = tuple[str, str, list[str]]
"""(title, body, remarks)."""


def through_proxy(folder: str, told: dict[str, Any]) -> Iterator[tuple[str, Shown]]:
    """Services that live under their own names, behind a proxy that answers for them."""
    services = Services(Path(folder))
    os.environ["REQUESTS_CA_BUNDLE"] = str(services.certificate)
    for name in ("NO_PROXY", "no_proxy"):
        os.environ.pop(name, None)
    try:
        for name, url, read in (
            ("Telegram", "tgram://123456789:" + "A" * 35 + "/12345", _telegram),
            ("Slack", "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#general", _slack),
            ("Discord", "discord://1234567890/abcdefghijklmnop", _discord),
            ("Pushover", f"pover://{'u' * 30}@{'a' * 30}", _pushover),
            ("Server酱", "schan://SCT12345", _serverchan),
            ("WeCom", "wecombot://abcdefgh-1234", _wecom),
            ("SMS (Twilio)", f"twilio://AC{'a' * 32}:{'b' * 32}@15551230000/15551231234", _sms),
        ):
            before = len(services.got)
            send(url, **told | {"proxy": services.proxy})
            got = services.got[before:]
            yield name, read(got)
    finally:
        services.close()


def _files(got: list[Request]) -> list[str]:
    names = [name for one in got for name, _, _ in one.files.values()]
    return [f"files: {', '.join(names)}"] if names else []


def _unescaped(text: str) -> str:
    """Markdown with backslashes, as an app shows it."""
    return re.sub(r"\\([\W_])", r"\1", text.replace("\r\n", "\n")).replace("  \n", "\n")


def _telegram(got: list[Request]) -> Shown:
    words = [one.fields.get("caption") or one.fields.get("text") or "" for one in got]
    text = telegram_text(next(filter(None, words))).replace("\r\n", "\n")
    title, _, body = text.partition("\n")
    return title, body, ["HTML, escaped", *_files(got)]


def _slack(got: list[Request]) -> Shown:
    (part,) = got[0].fields["attachments"]
    return unescape(part["title"]), unescape(part["text"]), [f"colour: `{part.get('color')}`"]


def _discord(got: list[Request]) -> Shown:
    content = next(one.fields["content"] for one in got if one.fields.get("content"))
    title, _, body = _unescaped(content).partition("\n")
    return title, body, ["Markdown, escaped", *_files(got)]


def _pushover(got: list[Request]) -> Shown:
    sent = got[0].fields
    named = (f"{name}: `{sent[name]}`" for name in ("priority", "retry", "expire") if name in sent)
    return sent["title"], sent["message"].replace("\r\n", "\n"), [*named, *_files(got)]


def _serverchan(got: list[Request]) -> Shown:
    sent = got[0].fields
    return sent["title"], _unescaped(sent["desp"]), ["a title of 32 characters at most"]


def _wecom(got: list[Request]) -> Shown:
    text = got[0].fields["text"]["content"].replace("\r\n", "\n")
    title, _, body = text.partition("\n")
    return title, body, [f"{len(text.encode())} bytes of 2,048"]


def _sms(got: list[Request]) -> Shown:
    text = got[0].fields["Body"]
    return "", text, [f"one SMS: {len(text)} characters"]


def direct(told: dict[str, Any]) -> Iterator[tuple[str, Shown]]:
    """Services on a server of one's own, and mail."""
    ntfy = Ntfy()
    buttons = [
        (label, f"{ntfy.url}/answers", f"mw1-{action}-token")
        for label, action in (("Acknowledge", "ack"), ("Silence 1 h", "silence"))
    ]
    try:
        send(f"{ntfy.apprise}/topic", **told, buttons=buttons)
    finally:
        ntfy.close()
    (note,) = ntfy.topics["topic"]
    labels = ", ".join(button.label for button in note.buttons)
    remarks = [f"priority: `{note.priority}`", f"tag: `{note.tags}`"]
    remarks += [f"buttons, with [`[answers]`](phone.md#answer-from-the-phone): {labels}"]
    yield "ntfy", (note.title, note.message, [*remarks, "files: the picture, in the same request"])
    receiver = Receiver()
    here = f"127.0.0.1:{receiver.port}"
    try:
        for url in (f"bark://{here}/KEY", f"gotify://{here}/{'A' * 15}", f"json://{here}/"):
            send(url, **told)
    finally:
        receiver.close()
    bark, gotify, plain = (got.data for got in receiver.got)
    yield "Bark", (bark["title"], bark["body"], [f"level: `{bark['level']}`"])
    yield "Gotify", (gotify["title"], gotify["message"], [f"priority: `{gotify['priority']}`"])
    names = [one["filename"] for one in plain.get("attachments", ())]
    remarks = [f"type: `{plain['type']}`", f"files: {', '.join(names)}"]
    yield "json://", (plain["title"], plain["message"], remarks)
    with Mailbox() as box:
        url = f"mailto://127.0.0.1:{box.port}?from=a@b.example&to=c@d.example&mode=insecure"
        send(url, **told)
    (mail,) = box.got
    remarks = [f"X-Priority: `{mail['X-Priority']}`", f"files: {', '.join(files_of(mail))}"]
    yield "e-mail", (str(mail["Subject"]), text_of(mail), remarks)
    yield "MQTT", _mqtt(told)


def _mqtt(told: dict[str, Any]) -> Shown:
    if why := mosquitto.missing():
        raise SystemExit(f"scripts/show-channels: {why}")
    with tempfile.TemporaryDirectory() as folder, mosquitto.Mosquitto(Path(folder) / "b") as broker:
        broker.subscribe("phone", "#")
        send(broker.url("box3", query="?rto=25"), **told)
        (message,) = broker.read("phone", "#", 1)
    title, _, body = message.text.replace("\r\n", "\n").partition("\n")
    retained = "retained" if message.retained else "not retained"
    return title, body, [f"topic: `{message.topic}`", f"QoS: `{message.qos}`, {retained}"]


def written() -> str:
    """The page."""
    with tempfile.TemporaryDirectory() as folder:
        told = job() | {"facts": facts(folder)}
        parts = [HEAD]
        for name, shown in (*direct(told), *through_proxy(folder, told)):
            parts.append(_part(name, shown))
        chinese = job(language="zh")
        parts.append('## In Chinese\n\nThe same push with `language = "zh"`.\n')
        for name, shown in through_proxy(folder, chinese):
            if name in ("Telegram", "WeCom", "SMS (Twilio)"):
                parts.append(_part(name, shown, "###"))
    return "\n".join(parts)


def _part(name: str, shown: Shown, level: str = "##") -> str:
    title, body, remarks = shown
    lines = [line.rstrip() for line in [*([title, ""] if title else []), *body.splitlines()]]
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    said = "; ".join(remarks)
    return f"{level} {name}\n\n{said[:1].upper() + said[1:]}.\n\n```text\n{text}\n```\n"


def main() -> int:
    """Write the page, or with ``--check`` say whether it is what would be written."""
    parser = argparse.ArgumentParser(description=__doc__, prog="scripts/show-channels")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if it differs")
    args = parser.parse_args()
    os.environ["TZ"] = "UTC"
    time.tzset()
    text = written()
    if args.check:
        same = PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text
        print(
            "docs/channels.md is true" if same else "docs/channels.md is not what would be written"
        )
        return int(not same)
    PAGE.write_text(text, encoding="utf-8")
    print("wrote docs/channels.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
