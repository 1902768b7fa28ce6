"""What an older or a damaged state directory does to a fresh daemon: it lives."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable
from typing import Any

from ..fakes import old_state

Program = Callable[[str], list[str]]


def test_documents_that_cannot_be_read_are_left_out(box: Any, program: Program) -> None:
    run = box.run(*program("trainer"), "none", name="gpt")
    box.steps(5)
    box.command("stop")
    with sqlite3.connect(box.state / "middlewatch.sqlite") as db:
        for kind, doc in (("run", {}), ("incident", {"id": "x"}), ("message", {"id": 1})):
            db.execute("insert into docs values (?, 'bad', 0, ?)", (kind, json.dumps(doc)))
    db.close()
    box.command("start")
    before = box.status(run)["now"]["step"]
    box.steps(before + 5, run=run)
    assert "message bad of the store is not usable" in box.log()
    assert "incident bad of the store is not usable" in box.log()


def test_an_incident_of_a_class_that_only_a_newer_release_knows_is_left_out(
    box: Any, program: Program
) -> None:
    run = box.run(*program("trainer"), "crash", "--at", "5", "--sleep", "0.01", name="gpt")
    box.until(lambda: box.ask("incidents", all=True), 30)
    box.command("stop")
    with sqlite3.connect(box.state / "middlewatch.sqlite") as db:
        (told,) = db.execute("select doc from docs where kind = 'incident'").fetchone()
        doc = json.loads(told) | {"id": "new", "trouble": "trouble_of_tomorrow"}
        db.execute("insert into docs values ('incident', 'new', 0, ?)", (json.dumps(doc),))
    db.close()
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
    with sqlite3.connect(box.state / "middlewatch.sqlite") as db:
        (text,) = db.execute("select doc from docs where kind = 'run'").fetchone()
        doc = json.loads(text)
        doc["ended_at"] -= 8 * 86400
        db.execute("update docs set doc = ? where kind = 'run'", (json.dumps(doc),))
    db.close()
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
