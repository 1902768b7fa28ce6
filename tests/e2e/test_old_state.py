"""What an older or a damaged state directory does to a fresh daemon: it lives."""

from __future__ import annotations

import contextlib
import json
import random
import sqlite3
import time
from collections.abc import Callable
from typing import Any

import pytest

from ..fakes import old_state

Program = Callable[[str], list[str]]


def test_documents_that_cannot_be_read_are_left_out(box: Any, program: Program) -> None:
    run = box.run(*program("trainer"), "none", name="gpt")
    box.steps(5)
    box.command("stop")
    with contextlib.closing(sqlite3.connect(box.state / "middlewatch.sqlite")) as db, db:
        for kind, doc in (("run", {}), ("incident", {"id": "x"}), ("message", {"id": 1})):
            db.execute("insert into docs values (?, 'bad', 0, ?)", (kind, json.dumps(doc)))
    box.command("start")
    before = box.status(run)["now"]["step"]
    box.steps(before + 5, run=run)
    for one in ("run bad", "incident bad", "message bad"):
        assert f"{one} of the store is not usable" in box.log()
    push = box.push(lambda p: "cannot read a part of its memory" in p.title)
    assert "incident bad\nmessage bad\nrun bad\n" in push.body
    box.command("stop")
    box.command("start")
    box.steps(before + 10, run=run)
    assert box.log().count("of the store is not usable") == 3, "they are not met again"
    with contextlib.closing(sqlite3.connect(box.state / "middlewatch.sqlite")) as db, db:
        kept = db.execute("select kind from docs where id = 'bad' order by kind").fetchall()
    assert kept == [("unread incident",), ("unread message",), ("unread run",)]


JUNK: tuple[Any, ...] = (None, True, -1, 1e308, "x", "", [], {}, [[]], {"a": {"b": []}}, "x" * 9999)


def spoiled(doc: Any, chance: random.Random) -> Any:
    """The same document with one value of it replaced by something else."""
    if isinstance(doc, dict) and doc and chance.random() < 0.85:
        key = chance.choice(sorted(doc))
        return {**doc, key: spoiled(doc[key], chance)}
    if isinstance(doc, list) and doc and chance.random() < 0.85:
        place = chance.randrange(len(doc))
        return [*doc[:place], spoiled(doc[place], chance), *doc[place + 1 :]]
    return chance.choice(JUNK)


def test_documents_that_are_wrong_in_one_place_harm_no_other(box: Any, program: Program) -> None:
    """Whatever is wrong with sixty documents: the daemon lives, and the others are watched."""
    old_state.lay_down(box.root)
    chance = random.Random(7)
    with contextlib.closing(sqlite3.connect(box.state / "middlewatch.sqlite")) as db, db:
        rows = db.execute("select kind, id, doc from docs").fetchall()
        silence = json.dumps({"run": "other", "class": "hang", "until": time.time() + 1e6})
        for kind, doc_id, text in [*rows, ("silence", "s", silence)]:
            for number in range(15):
                bad = json.dumps(spoiled(json.loads(text), chance))
                row = (kind, doc_id if kind == "box" else f"{doc_id}-{number}", 0.0, bad)
                db.execute("insert or replace into docs values (?, ?, ?, ?)", row)
        db.execute("insert into docs values ('incident', 'torn', 0, '{\"id\": ')")
    run = box.run(*program("trainer"), "nan", "--at", "20", "--sleep", "0.05", name="fine")
    box.push(
        lambda p: "fine on " in p.title + p.body
    )  # alone, or in one push with the copies of gpt
    names = {r["run"] for r in box.ask("runs")}
    assert {run, old_state.RUN} <= names
    for one in names:
        box.ask("status", run=one)
    for question in ("incidents", "outbox", "overview"):
        box.ask(question)
    assert (box.state / "runs" / run / "training_status.md").exists()
    assert "a bug in middlewatch" not in box.log(), box.log()


@pytest.mark.parametrize(
    "change",
    [
        "pragma user_version = 99",
        "drop view runs; drop view incidents; drop view outbox; alter table docs rename column doc to text",
    ],
)
def test_a_store_of_another_release_is_set_aside_and_kept(change: str, box: Any) -> None:
    old_state.lay_down(box.root)
    with contextlib.closing(sqlite3.connect(box.state / "middlewatch.sqlite")) as db, db:
        db.executescript(change)
    box.command("start")
    push = box.push(lambda p: "has lost its memory" in p.title)
    (aside,) = box.state.glob("*.damaged*")
    assert str(aside) in push.body
    with contextlib.closing(sqlite3.connect(aside)) as db, db:
        assert db.execute("select count(*) from docs").fetchone()[0] >= 4


def test_the_columns_of_the_store_may_stand_in_any_order(box: Any) -> None:
    """As after a change of the table by a later release that kept its version."""
    old_state.lay_down(box.root)
    with contextlib.closing(sqlite3.connect(box.state / "middlewatch.sqlite")) as db, db:
        db.executescript(
            "drop view runs; drop view incidents; drop view outbox;"
            "create table other (doc text not null, note text default '', id text not null,"
            " at real not null, kind text not null, primary key (kind, id));"
            "insert into other (kind, id, at, doc) select kind, id, at, doc from docs;"
            "drop table docs; alter table other rename to docs;"
        )
    box.command("start")
    assert [r["run"] for r in box.ask("runs")] == [old_state.RUN]
    box.command("stop")
    with contextlib.closing(sqlite3.connect(box.state / "middlewatch.sqlite")) as db, db:
        (doc,) = db.execute("select doc from docs where kind = 'run'").fetchone()
        assert json.loads(doc)["spec"]["id"] == old_state.RUN
        assert db.execute("pragma user_version").fetchone() == (1,)


def test_an_incident_of_a_class_that_only_a_newer_release_knows_is_left_out(
    box: Any, program: Program
) -> None:
    run = box.run(*program("trainer"), "crash", "--at", "5", "--sleep", "0.01", name="gpt")
    box.until(lambda: box.ask("incidents", all=True), 30)
    box.command("stop")
    with contextlib.closing(sqlite3.connect(box.state / "middlewatch.sqlite")) as db, db:
        (told,) = db.execute("select doc from docs where kind = 'incident'").fetchone()
        doc = json.loads(told) | {"id": "new", "trouble": "trouble_of_tomorrow"}
        db.execute("insert into docs values ('incident', 'new', 0, ?)", (json.dumps(doc),))
    box.command("start")
    assert "incident new of the store is not usable" in box.log()
    assert "trouble_of_tomorrow" in box.log()
    assert {i["class"] for i in box.ask("incidents", all=True, run=run)} == {"python_exception"}


def test_a_store_that_is_no_database_is_set_aside(box: Any) -> None:
    box.state.mkdir()
    (box.state / "middlewatch.sqlite").write_bytes(b"this is no database at all" * 100)
    box.command("start")
    assert box.ask("runs") == []
    assert "set aside" in box.log()
    (aside,) = box.state.glob("*.damaged*")
    push = box.push(lambda p: p.title.startswith("[WARNING] middlewatch on "))
    assert push.title.endswith("has lost its memory")
    assert f"kept: {aside}" in push.body


def test_what_ended_a_week_ago_is_forgotten(box: Any, program: Program) -> None:
    run = box.run(*program("trainer"), "crash", "--at", "5", "--sleep", "0.01", name="gpt")
    box.until(lambda: box.status(run)["ended_at"])
    box.command("stop")
    with contextlib.closing(sqlite3.connect(box.state / "middlewatch.sqlite")) as db, db:
        (text,) = db.execute("select doc from docs where kind = 'run'").fetchone()
        doc = json.loads(text)
        doc["ended_at"] -= 8 * 86400
        db.execute("update docs set doc = ? where kind = 'run'", (json.dumps(doc),))
    box.command("start")
    box.until(lambda: box.ask("runs") == [], "the run is forgotten")
    assert box.ask("incidents") == []
    time.sleep(1)
    assert len([p for p in box.receiver.pushes if "gpt" in p.title]) == 1


def test_the_state_that_0_1_0_left_is_taken_up(box: Any) -> None:
    old_state.lay_down(box.root)
    box.command("start")
    (run,) = box.ask("runs")
    assert run["run"] == old_state.RUN
    box.push(lambda push: "was rebooted at step 483" in push.title, "its end, read to the end")
    (known,) = [i for i in box.ask("incidents", all=True) if i["id"] == old_state.INCIDENT]
    assert known["opened_at"] == "2026-11-22T13:44:05.789+00:00"
    assert [i["class"] for i in box.ask("incidents", all=True)].count("loss_inf") <= 1
    # A reminder is due by now, and may come before it is seen that the box was rebooted.
    titles = [p.title for p in box.receiver.pushes if "reminder" not in p.title]
    assert not [title for title in titles if "infinite" in title], "that was told already"
    assert "bug of middlewatch" not in box.log()
