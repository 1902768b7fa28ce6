"""How the child asks an engine: whom it trusts, what it takes, and engines that misbehave."""

from __future__ import annotations

import base64
import json
import os
import select
import socket
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.sources import engine_http
from middlewatch.daemon.sources.engine_http import LONGEST, EngineSocket, Failure
from middlewatch.daemon.sources.engine_look import look
from middlewatch.daemon.sources.engine_stream import LONGEST_FRAME, Stream, open_stream
from middlewatch.daemon.sources.engine_time import seconds, stamp_ns
from middlewatch.daemon.sources.programs import docker
from middlewatch.daemon.sources.programs.docker import Asker
from middlewatch.daemon.system.clock import SystemClock

from ...fakes import second_user
from ...fakes.docker_engine import ID, PaperEngine, event, frame, inspected, reply

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: gives files away")
AT = 1_795_631_944_325_168_313
STAMP = "2026-11-25T18:39:04.325168313Z"


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder of ours with a short name: that of a socket has 107 bytes at most."""
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


@pytest.fixture
def paper(folder: Path) -> Iterator[PaperEngine]:
    made = PaperEngine(folder / "s")
    yield made
    made.close()


def engine(paper: PaperEngine | Path, seconds: float = 60.0) -> EngineSocket:
    path = paper.path if isinstance(paper, PaperEngine) else paper
    made = EngineSocket(str(path), SystemClock())
    made.begin(seconds)
    return made


def failure(paper: PaperEngine | Path, seconds: float = 60.0) -> Failure:
    with pytest.raises(Failure) as caught:
        engine(paper, seconds).ask(ID, "json")
    return caught.value


# -- what it asks ------------------------------------------------------------------------------


def test_it_sends_nothing_but_gets(paper: PaperEngine) -> None:
    look(engine(paper), {"id": ID})
    open_stream(engine(paper), ID, {"since": AT, "count": 0, "tty": False}).close()
    assert len(paper.requests) == 3
    assert {line.split(" ")[0] for line in paper.requests} == {"GET"}
    source = Path(engine_http.__file__).read_text()
    assert source.count("HTTP/1.0\\r\\n") == 1, "there is one place that writes a request"


@pytest.mark.parametrize("name", ["", "../info", ID.upper(), f"{ID}/exec", f"{ID}?x", "a" * 63])
def test_nothing_but_an_id_becomes_a_part_of_a_request(paper: PaperEngine, name: str) -> None:
    with pytest.raises(Failure):
        engine(paper).ask(name, "json")
    with pytest.raises(Failure):
        engine(paper).events(name, [], "0", "1")
    assert paper.requests == []


def test_what_it_tells_of_a_container(paper: PaperEngine) -> None:
    paper.events = [
        event(AT + 5, "kill", signal="15"),
        event(AT + 6, "exec_die: python x", exitCode="0"),
        event(AT + 7, "die", exitCode="143"),
    ]
    paper.container = inspected(
        state={"Status": "exited", "OOMKilled": True, "ExitCode": 143, "FinishedAt": STAMP},
        host={
            "Memory": 1 << 30,
            "RestartPolicy": {"Name": "on-failure", "MaximumRetryCount": 3},
            "LogConfig": {"Type": "local"},
        },
        RestartCount=2,
    )
    told = look(engine(paper), {"id": ID})
    state = told["state"]
    assert state.pop("mounts") == [["/ckpt", "/data/ckpt"]]
    assert state.pop("events") == [[AT + 5, "kill", "15"], [AT + 7, "die", "143"]]
    assert state == {
        "name": "gpt", "image": "pytorch:2.4", "pid": 4711, "status": "exited", "paused": False,
        "oom": True, "exit_code": 143, "error": "", "started": AT, "finished": AT, "restarts": 2,
        "policy": "on-failure", "retries": 3, "memory": 1 << 30, "auto_remove": False,
        "log": f"/var/lib/docker/containers/{ID}/{ID}-json.log", "driver": "local", "tty": False,
        "preemptible": False,
    }  # fmt: skip
    assert "geheim" not in json.dumps(told), "its environment stays with the engine"
    asked = paper.asked()
    assert asked["since"] == [seconds(AT)], "from the start of the container"
    assert json.loads(asked["filters"][0])["container"] == [ID]
    look(engine(paper), {"id": ID, "since": AT + 7})
    assert paper.asked()["since"] == [seconds(AT + 7)]


def test_the_last_events_of_one_that_was_removed(paper: PaperEngine) -> None:
    paper.container = None
    paper.events = [event(AT, "die", exitCode="3"), event(AT + 1, "destroy")]
    told = look(engine(paper), {"id": ID, "since": AT})
    assert told["events"] == [[AT, "die", "3"], [AT + 1, "destroy", ""]]
    assert "No such container" in told["gone"]
    with pytest.raises(Failure) as caught:
        look(engine(paper), {"id": ID})
    assert caught.value.kind == "gone"


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_no_answer_is_too_strange(value: Any) -> None:
    class Strange(EngineSocket):
        def whole(self, target: str) -> bytes:
            if target.startswith("/events"):
                return json.dumps(value).encode().replace(b"\n", b"")
            odd = dict.fromkeys(inspected(), value) | {"State": {"Pid": value, "Paused": value}}
            return json.dumps(odd if target.endswith("/json") else value).encode()

    told = look(Strange("/s", SystemClock()), {"id": ID})
    assert told["state"]["pid"] == (value if type(value) is int and abs(value) < 1 << 63 else 0)
    assert told["state"]["events"] == []


# -- engines that misbehave ----------------------------------------------------------------------


def test_one_that_never_answers(paper: PaperEngine) -> None:
    paper.act = lambda one, target: None
    asked = engine(paper, 0.2)
    for _ in range(3):
        with pytest.raises(Failure) as caught:
            asked.ask(ID, "json")
        assert caught.value.kind == "late"
    assert len(paper.requests) == 1, "after the first silence nothing more is asked"
    paper.act = None
    asked.begin(60)
    assert asked.ask(ID, "json")["Name"] == "/gpt"


def test_one_that_answers_drop_by_drop(paper: PaperEngine) -> None:
    """Each drop comes in time: the time of all of them is limited."""

    def drip(one: socket.socket, target: str) -> None:
        one.sendall(b"HTTP/1.0 200 OK\r\n\r\n")
        while True:
            one.sendall(b" ")

    paper.act = drip
    told = failure(paper, 0.5)
    assert (told.kind == "late") or "more than 1 MiB" in str(told)


def test_one_that_takes_no_connections(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as deaf, socket.socket(socket.AF_UNIX) as first:
        deaf.bind(str(folder / "s"))
        deaf.listen(0)
        first.connect(str(folder / "s"))
        assert failure(folder / "s", 0.2).kind == "late"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"", "does not answer as docker"),
        (b"220 mail.example ESMTP\r\n\r\n", "does not answer as docker"),
        (b"HTTP/1.0 200 OK\r\n", "does not answer as docker"),
        (b"\0" * 100_000, "does not answer as docker"),
        (b"HTTP/1.0 200 OK\r\n\r\n<html>", "cannot be read"),
        (b"HTTP/1.0 200 OK\r\n\r\n" + b"[" * 100_000, "cannot be read"),
        (b'HTTP/1.0 200 OK\r\nContent-Length: 9\r\n\r\n{"a"', "closed the connection"),
        (b"HTTP/1.0 200 OK\r\n\r\n" + b" " * (LONGEST + 2), "more than 1 MiB"),
        (b'HTTP/1.0 500 Oops\r\n\r\n{"message":"out of\\nspace"}', "answers 500: out of space"),
        (b"HTTP/1.0 503 Oops\r\n\r\n\xff\xfe", "answers 503"),
    ],
)
def test_one_that_answers_something_else(paper: PaperEngine, answer: bytes, words: str) -> None:
    def act(one: socket.socket, target: str) -> None:
        one.sendall(answer)
        one.shutdown(socket.SHUT_RDWR)

    paper.act = act
    told = failure(paper)
    assert told.kind == "error"
    assert words in str(told)
    assert len(str(told)) < 400


def test_one_that_is_not_there(folder: Path) -> None:
    assert failure(folder / "none").kind == "absent"
    PaperEngine(folder / "s").close()
    told = failure(folder / "s")
    assert told.kind == "absent", "nobody listens: it is being restarted"


# -- whose socket it is --------------------------------------------------------------------------


def test_a_socket_that_others_may_replace_is_not_opened(folder: Path) -> None:
    place = folder / "open"
    place.mkdir()
    paper = PaperEngine(place / "s")
    try:
        place.chmod(0o777)
        told = failure(paper)
        assert told.kind == "refused"
        assert "others may write to the folder" in str(told)
        place.chmod(0o1777)
        assert engine(paper).ask(ID, "json"), "in a sticky folder each keeps its own"
    finally:
        paper.close()
    assert len(paper.requests) == 1


@needs_root
@pytest.mark.system
def test_a_socket_of_another_user_is_not_opened(paper: PaperEngine, folder: Path) -> None:
    os.chown(paper.path, second_user.UID, -1)
    assert failure(paper).kind == "refused"
    os.chown(paper.path, 0, -1)
    link = folder / "link"
    link.symlink_to(paper.path)
    os.lchown(link, second_user.UID, -1)
    told = failure(link)
    assert told.kind == "refused"
    assert f"belongs to user {second_user.UID}" in str(told)
    assert paper.requests == []


@needs_root
@pytest.mark.system
def test_one_that_may_not_be_opened_is_no_failure(paper: PaperEngine) -> None:
    os.chmod(paper.path.parent, 0o711)
    os.chmod(paper.path, 0o600)

    def act() -> None:
        assert failure(paper).kind == "refused"

    second_user.done(act)


def test_a_file_is_no_socket(folder: Path) -> None:
    (folder / "s").write_text("")
    assert failure(folder / "s").kind == "refused"


# -- logs --------------------------------------------------------------------------------------


def stream(paper: PaperEngine, since: int = AT, count: int = 0, *, tty: bool = False) -> Stream:
    return open_stream(engine(paper), ID, {"since": since, "count": count, "tty": tty})


def all_of(log: Stream, limit: int = 1 << 20) -> list[tuple[int, str]]:
    """Everything that comes until the engine closes."""
    found = []
    try:
        while not log.ended:
            select.select([log._socket], [], [], 5)
            records, _ = log.take(limit)
            found += [(kind, base64.b64decode(text).decode()) for kind, text in records]
    finally:
        log.close()
    return found


def test_a_log_comes_in_frames(paper: PaperEngine) -> None:
    paper.log = frame(STAMP, "step 1\n") + frame(STAMP, "warn\n", 2) + frame(STAMP, "step 2\n")
    log = stream(paper)
    assert all_of(log) == [(1, "step 1\n"), (2, "warn\n"), (1, "step 2\n")]
    assert log.place == {"ns": AT, "count": 3}
    asked = paper.asked()
    assert asked["since"] == [seconds(AT)]
    assert asked["follow"] == ["1"]
    assert "tail" in asked


def test_reading_goes_on_behind_what_was_taken(paper: PaperEngine) -> None:
    later = "2026-11-25T18:39:04.325168314Z"
    paper.log = b"".join(frame(STAMP, f"{n}\n") for n in range(5)) + frame(later, "5\n")
    first = stream(paper)
    select.select([first._socket], [], [], 5)
    first.take(3 * len(f"{STAMP} 0\n"))
    first.close()
    assert first.place == {"ns": AT, "count": 3}
    second = stream(paper, first.place["ns"], first.place["count"])
    assert [text for _, text in all_of(second)] == ["3\n", "4\n", "5\n"]
    assert second.place == {"ns": AT + 1, "count": 1}
    assert "tail" not in paper.asked()


def test_a_terminal_has_no_frames(paper: PaperEngine) -> None:
    long = "x" * 20_000
    paper.log = f"{STAMP} step 1\r\n{STAMP} {long}{STAMP} rest\n{STAMP} no end".encode()
    assert [text for _, text in all_of(stream(paper, tty=True))] == [
        "step 1\r\n",
        f"{long}{STAMP} rest\n",
        "no end",
    ]


@pytest.mark.parametrize(
    "log",
    [
        b"\x09\0\0\0\0\0\0\x01x",
        struct.pack(">BxxxI", 1, LONGEST_FRAME + 1),
        frame(STAMP, "error from daemon in stream", 3),
    ],
)
def test_a_log_that_cannot_be_read(paper: PaperEngine, log: bytes) -> None:
    paper.log = log
    with pytest.raises(Failure):
        all_of(stream(paper))


def test_a_log_that_breaks_off(paper: PaperEngine) -> None:
    whole = frame(STAMP, "step 1\n")
    paper.log = whole + whole[:12]
    assert all_of(stream(paper)) == [(1, "step 1\n")]


@given(st.lists(st.binary(max_size=40), max_size=8), st.integers(1, 30), st.booleans())
def test_any_bytes_in_any_pieces(texts: list[bytes], cut: int, tty: bool) -> None:
    """What a program prints comes out as it went in."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        stamp = STAMP.encode()
        if tty:
            texts = [text.replace(b"\n", b"") + b"\n" for text in texts]
            sent = b"".join(stamp + b" " + text for text in texts)
        else:
            pieces = [stamp + b" " + text for text in texts]
            sent = b"".join(struct.pack(">BxxxI", 1, len(p)) + p for p in pieces)
        log = Stream(EngineSocket("/s", SystemClock()), ours, b"", {"ns": AT, "count": 0}, tty)
        got: list[Any] = []
        for at in range(0, len(sent), cut):
            theirs.sendall(sent[at : at + cut])
            got += log.take(1 << 20)[0]
        theirs.shutdown(socket.SHUT_RDWR)
        got += log.take(1 << 20)[0]
        assert [base64.b64decode(text) for _, text in got] == texts
        assert log.ended


# -- the program -----------------------------------------------------------------------------


def message(**questions: Any) -> dict[str, Any]:
    return {"forget": [], "questions": questions}


def test_questions_are_answered_together(paper: PaperEngine) -> None:
    paper.log = frame(STAMP, "step 1\n")
    asker = Asker(str(paper.path))
    begin = {"since": AT, "count": 0, "tty": False, "until": None}
    answers = asker.answers_to(
        message(
            a={"do": "look", "id": ID},
            b={"do": "log", "id": ID, "begin": begin},
            c={"do": "log", "id": ID},
        )
    )
    assert answers["a"]["state"]["name"] == "gpt"
    assert answers["b"]["place"]["ns"] == AT
    assert answers["c"] == {"lost": True}, "a child that is new knows of no log"


def test_a_silent_engine_is_told_for_every_question(
    paper: PaperEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docker, "ANSWER_S", 0.2)
    paper.act = lambda one, target: None
    questions = {str(n): {"do": "look", "id": ID} for n in range(5)}
    answers = Asker(str(paper.path)).answers_to(message(**questions))
    assert [set(answer) for answer in answers.values()] == [{"late"}] * 5
    assert len(paper.requests) == 1


def test_an_answer_never_gets_too_long(paper: PaperEngine) -> None:
    long = [{"Source": "/s" + "x" * 600, "Destination": "/d" * 300} for _ in range(99)]
    paper.container = inspected(Mounts=long)
    questions = {str(n): {"do": "look", "id": ID} for n in range(60)}
    answers = Asker(str(paper.path)).answers_to(message(**questions))
    assert len(json.dumps(answers)) < 1 << 20
    assert {"later": True} in answers.values()


# -- times -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        (STAMP, AT),
        ("2026-11-25T18:39:04Z", AT // 10**9 * 10**9),
        ("2026-11-25T18:39:04.5Z", AT // 10**9 * 10**9 + 500_000_000),
        ("2026-11-25T19:39:04.325168313+01:00", AT),
        ("2026-11-25T13:09:04.325168313-05:30", AT),
        ("0001-01-01T00:00:00Z", 0),
        ("2026-13-25T18:39:04Z", 0),
        ("", 0),
        (None, 0),
        (7, 0),
    ],
)
def test_times(text: object, ns: int) -> None:
    assert stamp_ns(text) == ns


def test_times_are_written_as_docker_reads_them() -> None:
    assert seconds(AT) == "1795631944.325168313"
    assert seconds(10**9 + 1) == "1.000000001"


def test_the_paper_engine_speaks_http(paper: PaperEngine) -> None:
    paper.act = lambda one, target: reply(one, b"{}")
    assert engine(paper).ask(ID, "json") == {}
