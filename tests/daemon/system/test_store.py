from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from middlewatch.daemon.system.store import AT_ONCE, RESERVE_BYTES, SPARE_FILES, Store


class Place:
    """A state directory and a folder for what a full disk turns away."""

    def __init__(self, root: Path) -> None:
        self.path = root / "middlewatch.sqlite"
        self.reserve = root / "reserve"
        self.shared = root / "shm"
        self.shared.mkdir(exist_ok=True)

    def store(self) -> Store:
        return Store(self.path, self.reserve, self.shared)

    def rows(self) -> dict[tuple[str, str], Any]:
        """What somebody else reads from the file."""
        db = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)
        try:
            found = db.execute("select kind, id, doc from docs").fetchall()
        finally:
            db.close()
        return {(kind, i): json.loads(doc) for kind, i, doc in found}

    @property
    def fallbacks(self) -> list[Path]:
        return list(self.shared.iterdir())


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


# ------------------------------------------------------------------------ put and get back


def test_put_flush_and_the_next_start(place: Place) -> None:
    store = place.store()
    store.put("run", "a", {"name": "gpt", "loss": float("nan")}, 1.0)
    store.put("run", "a", {"name": "gpt", "n": 2}, 2.0)
    store.put("incident", "a", {"trouble": "损失"}, 2.0)
    assert dict(store.all("run")) == {"a": {"name": "gpt", "n": 2}}  # before any flush
    assert store.flush()
    assert place.rows()["incident", "a"] == {"trouble": "损失"}
    store.put("run", "b", {}, 3.0)
    store.close()
    again = place.store()
    assert dict(again.all("run")) == {"a": {"name": "gpt", "n": 2}, "b": {}}
    assert (again.trouble, again.set_aside) == ("", "")
    again.close()


def test_dropped_is_gone_now_and_later(place: Place) -> None:
    store = place.store()
    store.put("silence", "a", {}, 1.0)
    store.flush()
    store.drop("silence", "a")
    assert dict(store.all("silence")) == {}
    store.put("silence", "b", {}, 1.0)
    store.drop("silence", "b")
    store.close()
    again = place.store()
    assert dict(again.all("silence")) == {}
    again.put("silence", "a", {"n": 2}, 2.0)  # and may come again
    assert dict(again.all("silence")) == {"a": {"n": 2}}
    again.close()


ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from("abc"), st.integers(0, 99)),
        st.tuples(st.just("drop"), st.sampled_from("abc"), st.just(0)),
        st.tuples(st.sampled_from(["flush", "restart", "trim"]), st.just(""), st.just(0)),
    ),
    max_size=25,
)


@settings(max_examples=25)
@given(ACTIONS)
def test_no_put_is_lost(
    tmp_path_factory: pytest.TempPathFactory, actions: list[tuple[str, str, int]]
) -> None:
    place = Place(tmp_path_factory.mktemp("store"))
    store, model = place.store(), dict[str, dict[str, int]]()
    for action, doc_id, number in actions:
        if action == "put":
            store.put("run", doc_id, {"n": number}, 1.0)
            model[doc_id] = {"n": number}
        elif action == "drop":
            store.drop("run", doc_id)
            model.pop(doc_id, None)
        elif action == "flush":
            assert store.flush()
        elif action == "trim":
            store.trim(("run",), 3)
        else:
            store.close()
            store = place.store()
        assert dict(store.all("run")) == model
    store.close()


def test_the_views_speak_of_runs_incidents_and_the_outbox(place: Place) -> None:
    store = place.store()
    store.put("run", "r", {"spec": {"name": "gpt"}, "state": "running"}, 1.0)
    store.put("incident", "i", {"trouble": "hang", "run": "r"}, 1.0)
    store.put("message", "m", {"title": "[CRITICAL]", "state": "sent"}, 1.0)
    store.close()
    db = sqlite3.connect(place.path)
    assert db.execute("select name, state from runs").fetchall() == [("gpt", "running")]
    assert db.execute("select class, run from incidents").fetchall() == [("hang", "r")]
    assert db.execute("select title from outbox").fetchall() == [("[CRITICAL]",)]
    db.close()


def test_trimming_keeps_the_newest_and_gives_the_room_back(place: Place) -> None:
    store = place.store()
    for number in range(400):
        store.put("message", f"m{number}", {"body": "x" * 4000}, float(number))
    store.put("run", "r", {}, 0.0)
    store.flush()
    store.trim(("message",), 10)
    assert sorted(i for i, _ in store.all("message")) == [f"m{n}" for n in range(390, 400)]
    assert len(list(store.all("run"))) == 1
    store.close()
    assert store.size() < 200_000


# ------------------------------------------------------------------------ damage


def damage(path: Path, where: float = 0.5) -> None:
    data = bytearray(path.read_bytes())
    at = int(len(data) * where)
    data[at : at + 4096] = b"\xa5" * 4096
    path.write_bytes(data)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda p: p.write_bytes(b"this is no database" * 500),
        lambda p: damage(p, 0.0),
        lambda p: damage(p, 0.5),
    ],
    ids=["no database", "its head", "its middle"],
)
def test_a_damaged_store_is_set_aside_and_the_watch_goes_on(place: Place, spoil: Any) -> None:
    store = place.store()
    for number in range(200):
        store.put("run", f"r{number}", {"x": "y" * 500}, 1.0)
    store.close()
    spoil(place.path)
    spoiled = place.path.read_bytes()
    again = place.store()
    assert Path(again.set_aside).read_bytes() == spoiled
    again.put("run", "new", {}, 2.0)
    assert again.flush()
    assert again.trouble == ""
    again.close()
    assert set(place.rows()) == {("run", "new")}
    place.path.write_bytes(b"damaged once more" * 100)
    last = place.store()
    assert last.set_aside != again.set_aside  # nothing that was set aside is written over
    last.close()


@pytest.mark.parametrize("spoil", ["its middle", "deleted", "replaced"])
def test_a_store_that_is_lost_in_use(place: Place, spoil: str) -> None:
    store = place.store()
    for number in range(200):
        store.put("run", f"r{number}", {"x": "y" * 500}, 1.0)
    store.close()
    store = place.store()
    store.put("run", "a", {}, 1.0)
    assert store.flush()
    assert store.lost_in_use == 0
    if spoil == "its middle":
        damage(place.path, 0.5)
    else:
        place.path.unlink()
    if spoil == "replaced":
        sqlite3.connect(place.path).execute("create table other (x)").connection.close()
    store.put("run", "b", {}, 2.0)
    assert store.flush(), store.trouble
    assert store.lost_in_use == 1
    assert bool(store.set_aside) == (spoil == "its middle")
    store.put("run", "a", {}, 3.0)  # as its owner does then
    store.close()
    assert set(place.rows()) == {("run", "a"), ("run", "b")}


def test_a_store_that_somebody_has_touched_is_not_lost(place: Place) -> None:
    store = place.store()
    store.put("run", "a", {}, 1.0)
    assert store.flush()
    os.utime(place.path)
    store.put("run", "b", {}, 2.0)
    assert store.flush()
    assert (store.lost_in_use, store.set_aside) == (0, "")
    store.close()
    assert set(place.rows()) == {("run", "a"), ("run", "b")}


def test_a_reserve_of_inodes(place: Place) -> None:
    store = place.store()
    spare = [place.reserve.with_name(f"reserve-{number}") for number in range(1, SPARE_FILES + 1)]
    assert all(path.exists() for path in spare)
    assert store.give_reserve()
    assert not any(path.exists() for path in (place.reserve, *spare))
    assert not store.give_reserve()
    store.put("run", "a", {}, 1.0)
    assert store.flush()
    assert all(path.exists() for path in (place.reserve, *spare))
    store.close()


def test_one_document_that_is_no_json_does_not_hide_the_others(place: Place) -> None:
    store = place.store()
    store.put("run", "a", {"n": 1}, 1.0)
    store.close()
    db = sqlite3.connect(place.path)
    db.execute("insert into docs values ('run', 'b', 1, '{oops')")
    db.commit()
    db.close()
    again = place.store()
    assert dict(again.all("run")) == {"a": {"n": 1}}
    again.close()


def test_a_long_list_is_read_in_parts(tmp_path: Path) -> None:
    """What is put, dropped and committed between two parts is there once, or not at all."""
    store = Place(tmp_path).store()
    count = 3 * AT_ONCE + 7
    for n in range(count):
        store.put("message", f"{n:05}", {"n": n}, float(n))
        if n == count - 5:
            store.flush()
    found: dict[str, int] = {}
    for place, (doc_id, doc) in enumerate(store.all("message")):
        assert doc_id not in found
        found[doc_id] = doc["n"]
        if place == 2:
            store.put("message", "00500", {"n": -1}, 1.0)
            store.put("message", "00001", {"n": -1}, 1.0)
            store.drop("message", "00600")
            store.flush()
    want = {f"{n:05}": n for n in range(count) if n != 600}
    assert found == {**want, "00500": -1}
    store.close()


def test_a_place_where_no_store_can_be(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.path.mkdir()
    store = place.store()
    assert "unable to open" in store.trouble
    store.put("run", "a", {"n": 1}, 1.0)
    assert not store.flush()
    assert dict(store.all("run")) == {"a": {"n": 1}}
    store.close()
    (kept,) = place.fallbacks
    assert kept.stat().st_mode & 0o777 == 0o600
    place.path.rmdir()
    again = place.store()
    assert dict(again.all("run")) == {"a": {"n": 1}}
    assert place.fallbacks == []
    again.close()
    assert place.rows() == {("run", "a"): {"n": 1}}


# ------------------------------------------------------------------------ the fallback file


def test_the_fallback_waits_until_the_store_can_be_opened(tmp_path: Path) -> None:
    """Two starts in a row with a disk that is still full: nothing of the first is lost."""
    place = Place(tmp_path)
    place.path.mkdir()
    for name in "ab":
        store = place.store()
        store.put("run", name, {"n": name}, 1.0)
        store.close()
    place.path.rmdir()
    store = place.store()
    assert dict(store.all("run")) == {"a": {"n": "a"}, "b": {"n": "b"}}
    store.close()


def test_a_stale_fallback_does_not_undo_what_is_newer(place: Place) -> None:
    store = place.store()
    store.put("run", "a", {"n": "new"}, 10.0)
    store.close()
    store.fallback.write_text(
        json.dumps([["run", "a", 5.0, '{"n": "old"}'], ["run", "b", 5.0, '{"n": 1}']])
    )
    again = place.store()
    assert dict(again.all("run")) == {"a": {"n": "new"}, "b": {"n": 1}}
    again.close()


@pytest.mark.parametrize(
    "text", ["", "{", "null", "3", "[3]", '[["run", "a"]]', '[["run", "a", "x", "{}"]]', "\x00"]
)
def test_a_fallback_of_nonsense_is_no_trouble(place: Place, text: str) -> None:
    place.store().close()
    store = place.store()
    store.close()
    store.fallback.write_text(text)
    again = place.store()
    assert dict(again.all("run")) == {}
    again.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root to make a file of somebody else")
def test_somebody_else_s_file_in_the_shared_folder_proves_nothing(place: Place) -> None:
    store = place.store()
    store.close()
    store.fallback.write_text(json.dumps([["run", "evil", 9e9, "{}"]]))
    os.chown(store.fallback, 65534, 65534)
    again = place.store()
    assert dict(again.all("run")) == {}
    again.close()


def test_a_link_in_the_shared_folder_is_not_followed(place: Place, tmp_path: Path) -> None:
    place.path.mkdir()
    store = place.store()
    victim = tmp_path / "victim"
    victim.write_text("precious")
    store.fallback.symlink_to(victim)
    store.put("run", "a", {}, 1.0)
    store.close()
    assert victim.read_text() == "precious"


# ------------------------------------------------------------------------ a full disk


def test_the_reserve_is_real_and_made_anew(place: Place) -> None:
    place.reserve.touch()  # what a full disk left of the last attempt
    store = place.store()
    assert place.reserve.stat().st_blocks * 512 >= RESERVE_BYTES
    place.reserve.unlink()
    store.put("run", "a", {}, 1.0)
    store.flush()
    assert place.reserve.stat().st_size == RESERVE_BYTES
    store.close()


FULL_DISK = """
    import json, os, sys
    from pathlib import Path
    from middlewatch.daemon.system.store import AT_ONCE, RESERVE_BYTES, SPARE_FILES, Store

    disk, shared = Path(sys.argv[1]), Path(sys.argv[2])
    def store():
        return Store(disk / "middlewatch.sqlite", disk / "reserve", shared)
    def fill():
        fd = os.open(disk / "ballast", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for size in (65536, 4096, 512, 1):
            try:
                while True:
                    os.write(fd, b"x" * size)
            except OSError:
                pass
        os.close(fd)
    told = {}
    one = store()
    one.put("run", "before", {}, 1.0)
    told["before"] = one.flush()
    fill()
    one.put("incident", "first", {"x": "y" * 1000}, 2.0)
    told["with the reserve"] = one.flush()
    told["reserve left"] = (disk / "reserve").exists()
    fill()
    for number in range(300):  # more than any room that is left
        one.put("incident", f"i{number}", {"x": "y" * 4000}, 3.0)
    told["full"] = one.flush()
    told["trouble"] = one.trouble
    told["in memory"] = len(list(one.all("incident")))
    told["fallback"] = len(list(shared.iterdir()))
    # The process dies here as if by kill -9: nothing is closed.
    two = store()
    told["next start"] = len(list(two.all("incident")))
    two.put("incident", "later", {}, 4.0)
    told["still full"] = two.flush()
    (disk / "ballast").unlink()
    told["room again"] = two.flush()
    told["trouble after"] = two.trouble
    told["fallback after"] = len(list(shared.iterdir()))
    told["reserve after"] = (disk / "reserve").stat().st_size == RESERVE_BYTES
    three = store()
    told["at the end"] = [len(list(three.all("incident"))), len(list(three.all("run")))]
    for each in (one, two, three):
        each._db.close()
    (disk / "reserve").unlink()
    fill()  # no room even for the files that SQLite needs to read
    four = store()
    told["read only"] = len(list(four.all("incident")))
    four.put("incident", "last", {}, 5.0)
    told["unwritable"] = four.flush()
    four.close()
    (disk / "ballast").unlink()
    five = store()
    told["all of it"] = len(list(five.all("incident")))
    five.close()
    print(json.dumps(told))
"""


@pytest.mark.system
@pytest.mark.skipif(os.geteuid() != 0, reason="takes root to mount a tmpfs")
def test_a_disk_that_fills(tmp_path: Path) -> None:
    disk, shared, program = tmp_path / "disk", tmp_path / "shm", tmp_path / "program.py"
    disk.mkdir()
    shared.mkdir()
    program.write_text(textwrap.dedent(FULL_DISK))
    script = 'mount -t tmpfs -o size=4m tmpfs "$1" && exec "$2" "$3" "$1" "$4"'
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", disk, sys.executable, program, shared],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if "mount" in done.stderr:
        pytest.skip(f"no tmpfs can be mounted here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told.pop("trouble") == "database or disk is full"
    assert told == {
        "before": True,
        "with the reserve": True,
        "reserve left": False,
        "full": False,
        "in memory": 301,
        "fallback": 1,
        "next start": 301,
        "still full": False,
        "room again": True,
        "trouble after": "",
        "fallback after": 0,
        "reserve after": True,
        "at the end": [302, 1],
        "read only": 302,
        "unwritable": False,
        "all of it": 303,
    }


# ------------------------------------------------------------------------ kill -9

WRITER = """
    import sys
    from pathlib import Path
    from middlewatch.daemon.system.store import Store
    root = Path(sys.argv[1])
    store = Store(root / "middlewatch.sqlite", root / "reserve", root / "shm")
    number = int(sys.argv[2])
    while True:
        number += 1
        for name in "abc":
            store.put("run", name, {"n": number, "x": "y" * (number * 37 % 20000)}, float(number))
        store.flush()
        print(number, flush=True)
"""


def test_kill_9_at_any_moment_leaves_what_was_flushed(place: Place, tmp_path: Path) -> None:
    program = tmp_path / "writer.py"
    program.write_text(textwrap.dedent(WRITER))
    flushed = 0
    for patience_s in (0.0, 0.003, 0.011, 0.027, 0.05):
        with subprocess.Popen(
            [sys.executable, program, tmp_path, str(flushed)], stdout=subprocess.PIPE, text=True
        ) as writer:
            assert writer.stdout is not None
            flushed = int(writer.stdout.readline())
            time.sleep(patience_s)
            writer.send_signal(signal.SIGKILL)
            flushed = max([flushed, *map(int, writer.stdout.read().split("\n")[:-1])])
        store = place.store()
        docs = dict(store.all("run"))
        assert store.set_aside == ""
        assert sorted(docs) == ["a", "b", "c"]
        assert len({doc["n"] for doc in docs.values()}) == 1  # one flush is one transaction
        assert docs["a"]["n"] >= flushed
        flushed = docs["a"]["n"]
        store.close()
