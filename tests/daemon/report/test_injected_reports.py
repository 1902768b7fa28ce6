"""What others wrote, in a status page and in pushes: it arrives as the text it is, and does nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from middlewatch.daemon.config.secrets import mask
from middlewatch.daemon.judge.incidents import Change, Incident
from middlewatch.daemon.report.messages import MAX_BODY, Message, compose, finished, store_lost
from middlewatch.daemon.report.status_page import page
from middlewatch.daemon.text import chat, markdown
from middlewatch.daemon.text.terminal import MOST_MARKS, clean, one_line
from middlewatch.sentinels.handbook import page as handbook_page
from middlewatch.sentinels.kit import CheckpointSeen, Evidence, Severity

from ...fakes.injections import (
    Injection,
    called,
    injections,
    markup,
    obeyed,
    parsed,
    read_out,
    tags,
)
from ...fakes.notifier import jobs_of, one_by_one
from ...fakes.receiver import Receiver

AT = "2024-05-01T03:12:44.000+00:00"
NOW = 1_700_000_000.0
EACH = pytest.mark.parametrize("one", injections(), ids=lambda one: one.name)


def test_there_are_enough_of_them() -> None:
    assert len(injections()) >= 50
    assert len({one.name for one in injections()}) == len(injections())


# ------------------------------------------------------------------------ the status page


def told(text: str) -> str:
    """A page in which every text of others is this one."""
    save = {
        "path": text,
        "step": 1.0,
        "bytes": 1,
        "saved_at": AT,
        "state": "ok",
        "level": "structure",
        "detail": text,
    }
    status = {
        "run": "gpt-1a2b",
        "state": "failing",
        "state_reason": text,
        "now": {
            "step": 1.0,
            "total": None,
            "epoch": None,
            "values": {text: text},
            "step_interval_s": None,
            "eta": None,
            "last_step_at": AT,
        },
        "exit": None,
        "ended_at": None,
        "incidents": [
            {
                "id": "3fa2c1",
                "class": "crash",
                "severity": "critical",
                "opened_at": AT,
                "summary": text,
                "evidence": [{"text": text}],
                "remedy": {"first_step": f"look at it: `ls {text}`, then {text}"},
            }
        ],
        "checkpoint_dirs": [text],
        "checkpoints": {
            "latest": save,
            "last_verified": save,
            "best": text,
            "resume_from": text,
            "pending": [save],
            "claimed": {"step": None, "path": text, "at": AT},
            "durability": {"survives_stop": False, "better": text, "text": text},
            "cadence": {"text": text},
        },
        "checkpoint_folders": [{"path": text, "whole": False, "names": [text], "why": text}],
        "notes": [text],
        "command": ["python", text, f"--name={text}"],
        "cwd": text,
        "logs": [{"path": text}],
        "resumed_from": text,
    }
    disk = {
        "mount": text,
        "holds": ["log"],
        "free_bytes": 1,
        "total_bytes": 2,
        "free_inodes": None,
        "total_inodes": None,
        "read_only": False,
        "saves_left": 1.0,
    }
    box = {"gpus": [{"index": 0, "name": text, "lost": True}], "disks": [disk], "memory": None}
    watch = [{"source": text, "state": "failed", "detail": text}]
    return page(status, box, watch, AT)


HEADINGS = ["gpt-1a2b: failing", "Now", "Risks", "Checkpoints", "Box", "Watch", "Handover"]


@EACH
def test_a_status_page_shows_it_as_text(one: Injection) -> None:
    text = told(one.text)
    assert obeyed(text) == []
    assert markup(text) == []
    for tokens in parsed(text):
        heads = [n + 1 for n, t in enumerate(tokens) if t.type == "heading_open"]
        assert [tokens[n].content for n in heads] == HEADINGS
    plain = mask(one_line(one.text))
    for shown in read_out(text):
        # Reason, name and value, summary, proof, three of a save, notes and the rest: all but the
        # command, which a shell would quote, and the first step, which may hold code of ours.
        assert shown.count(plain) >= 20


def test_what_is_no_markup_stays_as_it_is() -> None:
    for text in (
        *("train_loss 3 * 4 = 12", "[rank0]: step a_b_c", "x < y && y > z", "50 % | 60 %"),
        *("~/runs/gpt", r"C:\data", "snake_case_name_", "#5 -1 +2 1.5", "a -- b", "R&D", "[0/5]"),
    ):
        assert markdown.escaped(text) == text
    assert markdown.escaped("-1.5", starts=True) == "-1.5"
    assert markdown.escaped("1. a", starts=True) == "1\\. a"
    assert markdown.code("a `b` c") == "`` a `b` c ``"
    assert markdown.with_code("type `ls *x*`, *then* `b") == "type `ls *x*`, \\*then* \\`b"


# ------------------------------------------------------------------------ pushes


def pushes(text: str) -> list[Message]:
    """Every kind of push, made of this text."""
    incident = Incident(
        "3fa2c1", "gpt-1a2b", "crash", "crash", "k", Severity.CRITICAL, "open", NOW, NOW, text,
        details={"path": text, "outcome": text, "pid": 7}, evidence=[Evidence("log", text, NOW)] * 3,
        symptoms=[text], remedy=f"look at `ls PATH`: {text}",
    )  # fmt: skip
    save = CheckpointSeen(
        NOW, f"/out/{text}", NOW, 1, 1, "torch", 5.0, state="ok", level="structure"
    )
    found = handbook_page("crash")
    made = [
        compose(Change(kind, incident, ""), text, text, found, [save], NOW + 9)
        for kind in ("opened", "resolved")
    ]
    now = {"values": {}, "step": 3.0}
    status = {"state_reason": text, "now": now, "checkpoints": {"resume_from": text}}
    return [*made, finished(text, text, status), store_lost(text, text)]


def sent(receiver: Receiver, messages: Sequence[Message]) -> dict[str, list[dict[str, Any]]]:
    """What the real notifier makes of them for services that show text, HTML and Markdown, and for
    two real ones; by the path at which it arrives."""
    there = f"127.0.0.1:{receiver.port}"
    urls = [
        f"json://{there}/html?format=html",
        f"json://{there}/markdown?format=markdown",
        f"mmost://{there}/{'k' * 26}",
        f"ntfy://{there}/topic",
    ]
    jobs = [job for m in messages for job in jobs_of(urls, title=m.title, body=m.body, kind=m.kind)]
    assert all(answer["ok"] for answer in one_by_one(jobs))
    found: dict[str, list[dict[str, Any]]] = {}
    for got in receiver.got:
        found.setdefault(got.path, []).append(got.data)
    return found


@EACH
def test_a_push_holds_nothing_that_is_obeyed(one: Injection) -> None:
    for message in pushes(one.text):
        assert len(message.body) <= MAX_BODY
        for text in (message.title, message.body):
            assert obeyed(text) == []
            assert called(text) == []
        assert "\n" not in message.title


def test_a_push_does_nothing_where_it_arrives(receiver: Receiver) -> None:
    got = sent(receiver, [pushes(one.text)[0] for one in injections()])
    assert {len(pushed) for pushed in got.values()} == {len(injections())}
    assert len(got) == 4
    wrong = []
    for path, pushed in got.items():
        for one, data in zip(injections(), pushed, strict=True):
            text = str(data.get("message", data.get("text")))
            bad = set(called(text))
            if path.startswith("/html"):
                bad |= tags(text) - {"br"}
            else:
                bad |= {"link_open", "image", "fence", "table_open"} & set(markup(text))
            wrong += [(one.name, path, what) for what in sorted(bad)]
    assert wrong == []


def test_text_that_calls_nobody_stays_as_it_is() -> None:
    for text in (
        *("mail me@example.org", "in <module>", "a < b", "x[0] (y)", "a | b", "git@host:repo"),
        *("<class 'torch.Tensor'>", "</s>", "ssh root@box -p 22", "~/out", "`df -h`"),
    ):
        assert chat.defused(text) == text


# ------------------------------------------------------------------------ the terminal


def test_combining_marks_do_not_pile_up() -> None:
    pile = "l" + "\u0301" * 40 + "oss"
    assert clean(pile) == "l" + "\u0301" * MOST_MARKS + "oss"
    assert clean("Việt ố ệ") == "Việt ố ệ"
