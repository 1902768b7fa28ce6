from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from middlewatch.daemon.report.outbox import NOTIFIER_ARGV

from ...fakes.receiver import Receiver


def message(*urls: str, mode: str = "ladder", name: str = "m1") -> dict[str, Any]:
    return {"id": name, "title": "t", "body": "b", "kind": "info", "urls": urls, "mode": mode}


def answers(*messages: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the real child says to these, and that it leaves with its owner."""
    done = subprocess.run(
        NOTIFIER_ARGV,
        input="".join(json.dumps(m) + "\n" for m in messages),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


def verdicts(answer: Mapping[str, Any]) -> list[bool]:
    return [result["ok"] for result in answer["results"]]


def test_it_answers_line_by_line(receiver: Receiver) -> None:
    said = answers(*(message(receiver.url, name=f"m{n}") for n in range(3)))
    assert [(a["id"], a["ok"]) for a in said] == [("m0", True), ("m1", True), ("m2", True)]
    assert len(receiver.got) == 3


def test_the_ladder_stops_at_the_first_that_took_it_and_all_means_all(receivers: Any) -> None:
    broken, good, spare = receivers(), receivers(), receivers()
    broken.status = 500
    urls = (broken.url, good.url, spare.url)
    ladder, everybody, nobody = answers(
        message(*urls), message(*urls, mode="all"), message(mode="all")
    )
    assert (ladder["ok"], verdicts(ladder)) == (True, [False, True])
    assert (everybody["ok"], verdicts(everybody)) == (False, [False, True, True])
    assert (nobody["ok"], verdicts(nobody)) == (False, [])
    assert [len(r.got) for r in (broken, good, spare)] == [2, 2, 1]


def test_what_is_no_url_is_an_answer() -> None:
    urls = ("", "nonsense", "nosuch://x", "json://", "tgram://short", "://", "mailto://a b")
    (answer,) = answers(message(*urls))
    assert verdicts(answer) == [False] * len(urls)
    for number, result in enumerate(answer["results"], 1):
        assert result["error"]
        assert result["url"].startswith(f"url {number}")


def test_the_resident_side_knows_no_apprise() -> None:
    words = (
        "import sys; from middlewatch.daemon.report import outbox; "
        "print([m for m in sys.modules if m.split('.')[0] in ('apprise', 'requests', 'logging')])"
    )
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
