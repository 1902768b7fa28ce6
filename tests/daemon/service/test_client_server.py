from __future__ import annotations

import contextlib
import json
import os
import resource
import socket
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.client import Client, RemoteError
from middlewatch.daemon.service import server as server_module
from middlewatch.daemon.service.server import MAX_BACKLOG, MAX_CLIENTS, Server
from middlewatch.daemon.system import jsonlines
from middlewatch.daemon.system.clock import SystemClock
from middlewatch.daemon.system.descriptors import own
from middlewatch.daemon.system.errors import DaemonUnreachable, Refused, UsageError
from middlewatch.daemon.system.loop import Loop

from ...fakes.house import PATIENCE_S, House, line_of, until


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path / "mw.sock")
    yield made
    made.close()
    assert not made.path.exists()


# ------------------------------------------------------------------------ asking


def test_a_question_and_its_answer(house: House) -> None:
    assert house.ask("ping", n=3) == {"n": 3}
    assert house.ask("nan") == ["nan"]


def test_only_its_owner_can_open_it(house: House) -> None:
    assert stat.S_IMODE(house.path.stat().st_mode) == 0o600


def test_refusals_keep_their_hint_and_exit_code(house: House) -> None:
    with pytest.raises(RemoteError) as caught:
        house.ask("refuse")
    assert (str(caught.value), caught.value.hint) == ("not this one", "try the other")
    assert caught.value.exit_code == 4


@pytest.mark.parametrize(
    ("op", "exit_code", "words"),
    [
        ("nonsense", 2, "unknown question 'nonsense'"),
        ("need", 2, "malformed question: 'what'"),
        ("bug", 5, "ZeroDivisionError"),
        ("odd", 2, "not JSON serializable"),
    ],
)
def test_every_trouble_is_an_answer(house: House, op: str, exit_code: int, words: str) -> None:
    with pytest.raises(RemoteError) as caught:
        house.ask(op)
    assert caught.value.exit_code == exit_code
    assert words in str(caught.value)
    assert house.ask("ping", n=1) == {"n": 1}
    assert bool(house.bugs) == (op == "bug")
    assert all("Traceback" in bug for bug in house.bugs)


@pytest.mark.parametrize("size", [100_000, 5 << 20])
def test_a_long_answer_arrives_whole(house: House, size: int) -> None:
    assert len(house.ask("big", size=size)) == size


# ------------------------------------------------------------------------ bad manners


@pytest.mark.parametrize(
    "garbage",
    [b"\n", b"\x00\xff\n", b"[1]\n", b"{}\n", b'"x"\n', b"GET / HTTP/1.1\n", b"[" * 9999 + b"\n"],
)
def test_garbage_gets_an_answer(house: House, garbage: bytes) -> None:
    with house.call() as sock:
        sock.sendall(garbage)
        answer = line_of(sock)
    assert answer["ok"] is False
    assert answer["exit_code"] == 2
    assert not house.bugs


def test_half_a_line_and_then_the_other_half(house: House) -> None:
    with house.call() as sock:
        sock.sendall(b'{"op":"pi')
        assert house.ask("ping", n=1) == {"n": 1}  # nobody else waits for it
        sock.sendall(b'ng","n":7}\n{"op":"ping","n":8}\n')
        with sock.makefile("rb") as answers:
            assert [jsonlines.decode(answers.readline())["data"]["n"] for _ in range(2)] == [7, 8]


def test_half_a_line_and_good_bye(house: House) -> None:
    with house.call() as sock:
        sock.sendall(b'{"op":"pi')
    assert house.ask("ping", n=1) == {"n": 1}
    until(lambda: len(house.server._clients) <= 1, "it was forgotten")


def test_a_line_of_ten_megabytes_is_not_kept(house: House) -> None:
    with house.call() as sock, contextlib.suppress(OSError):
        sock.sendall(b"x" * (10 << 20))
        assert sock.recv(10) == b""
    assert house.ask("ping", n=1) == {"n": 1}


def test_a_client_that_never_reads_is_dropped(house: House) -> None:
    size = MAX_BACKLOG // 4
    with house.call() as sock:
        for _ in range(6):
            with contextlib.suppress(OSError):
                sock.sendall(b'{"op":"big","size":%d}\n' % size)
        assert house.ask("ping", n=1) == {"n": 1}  # the others never wait for it
        # It is either held back by its own backlog, or gone; never more than the limit.
        for client in list(house.server._clients.values()):
            assert len(client.unsent) <= MAX_BACKLOG + size
    until(lambda: not house.server._clients, "it was let go")


def test_a_follower_that_never_reads_is_dropped(house: House) -> None:
    with house.call() as sock:
        sock.sendall(b'{"op":"follow"}\n')
        until(lambda: any(c.follows for c in house.server._clients.values()), "it follows")
        for _ in range(12):
            house.publish("x" * (1 << 20))
        until(lambda: not house.server._clients, "it was dropped")
    assert house.ask("ping", n=1) == {"n": 1}


def test_questions_of_a_dropped_client_are_not_answered(house: House) -> None:
    with house.call() as sock:
        flood = b'{"op":"big","size":%d}\n' % MAX_BACKLOG
        sock.sendall(flood + flood + b'{"op":"count"}\n' * 3)
        until(lambda: not house.server._clients, "it was dropped")
    assert house.asked == []


def test_a_hundred_at_once(house: House) -> None:
    answers: list[Any] = []

    def one(n: int) -> None:
        answers.append(house.ask("ping", n=n)["n"])

    threads = [threading.Thread(target=one, args=(n,)) for n in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == list(range(100))


def test_a_hundred_that_ask_nothing_do_not_lock_the_door(house: House) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(house.call())
        assert house.ask("ping", n=1) == {"n": 1}
        assert len(house.server._clients) <= MAX_CLIENTS
    until(lambda: not house.server._clients, "all gone")


def test_followers_are_not_shown_the_door(house: House) -> None:
    with contextlib.ExitStack() as stack:
        follower = stack.enter_context(house.call())
        follower.sendall(b'{"op":"follow"}\n')
        line_of(follower)
        for _ in range(100):
            stack.enter_context(house.call())
        house.ask("ping")
        house.publish("news")
        assert line_of(follower)["data"] == "news"


def test_who_follows_leaves_room_for_questions(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 128 descriptors 16 may be connected."""
    monkeypatch.setattr(own, "_limit", lambda: 128)
    with contextlib.ExitStack() as stack:
        answers = []
        for _ in range(20):
            sock = stack.enter_context(house.call())
            sock.sendall(b'{"op":"follow"}\n')
            answers.append(jsonlines.decode(sock.recv(4096)))
        assert [answer["ok"] for answer in answers] == [True] * 12 + [False] * 8
        assert answers[-1]["error"] == "12 clients follow already"
        for n in range(20):
            stack.enter_context(house.call())
            assert house.ask("ping", n=n) == {"n": n}
        assert len(house.server._clients) <= 16


def test_out_of_descriptors_it_does_not_spin(house: House) -> None:
    taken: list[int] = []
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    sock = socket.socket(socket.AF_UNIX)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.dup(0))
        sock.connect(str(house.path))
        before = time.thread_time(), time.process_time()
        time.sleep(0.3)
        assert time.process_time() - before[1] < 0.15
    finally:
        for fd in taken:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    with sock:
        sock.settimeout(PATIENCE_S)
        sock.sendall(b'{"op":"ping","n":5}\n')
        assert line_of(sock)["data"] == {"n": 5}


def test_out_of_descriptors_it_answers_one_after_the_other(house: House) -> None:
    taken: list[int] = []
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    clients = [socket.socket(socket.AF_UNIX) for _ in range(3)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.dup(0))
        for number, sock in enumerate(clients):
            with sock:
                sock.settimeout(PATIENCE_S)
                sock.connect(str(house.path))
                sock.sendall(b'{"op":"ping","n":%d}\n' % number)
                assert jsonlines.decode(sock.recv(4096))["data"] == {"n": number}
    finally:
        for fd in taken:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


# ------------------------------------------------------------------------ following


def test_following(house: House) -> None:
    news = Client(str(house.path)).follow("follow")
    assert next(news) == "here is what is known"
    house.publish({"change": "opened", "loss": float("inf")})
    house.publish({"change": "resolved"})
    assert next(news) == {"change": "opened", "loss": "inf"}
    assert next(news) == {"change": "resolved"}
    assert house.ask("ping", n=1) == {"n": 1}


def test_a_follower_learns_of_the_end(tmp_path: Path) -> None:
    house = House(tmp_path / "mw.sock")
    news = Client(str(house.path)).follow("follow")
    next(news)
    house.close()
    with pytest.raises(DaemonUnreachable):
        next(news)


def test_a_question_that_failed_does_not_follow(house: House, tmp_path: Path) -> None:
    loop = Loop(SystemClock(), lambda error: None)
    server = Server(tmp_path / "b.sock", loop, {"follow": lambda q: q["run"]}, house.bugs.append)
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(str(tmp_path / "b.sock"))
        sock.sendall(b'{"op":"follow"}\n')
        for _ in range(3):
            loop.turn(0.1)
        assert [c.follows for c in server._clients.values()] == [False]
    server.close()
    loop.close()


# ------------------------------------------------------------------------ nobody there


def test_nobody_there(tmp_path: Path) -> None:
    with pytest.raises(DaemonUnreachable) as caught:
        Client(str(tmp_path / "none.sock")).ask("ping")
    assert caught.value.exit_code == 3
    assert "middlewatch start" in caught.value.hint


@pytest.mark.parametrize("said", [b"", b"garbage\n", b"[]\n"])
def test_somebody_else_there(tmp_path: Path, said: bytes) -> None:
    path = str(tmp_path / "other.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()

        def serve() -> None:
            sock, _ = listener.accept()
            with sock:
                sock.recv(1000)
                sock.sendall(said)

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(DaemonUnreachable):
            Client(path).ask("ping")
        thread.join()


def test_somebody_who_never_answers(tmp_path: Path) -> None:
    path = str(tmp_path / "mute.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        with pytest.raises(DaemonUnreachable, match="timed out"):
            Client(path, timeout_s=0.1).ask("ping")


# ------------------------------------------------------------------------ the socket file


def serve_at(path: Path) -> None:
    loop = Loop(SystemClock(), lambda error: None)
    try:
        Server(path, loop, {}, lambda text: None).close()
    finally:
        loop.close()


def test_a_path_that_is_too_long(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 120)
    with pytest.raises(UsageError) as caught:
        serve_at(path)
    assert "shorter --state-dir" in caught.value.hint
    with pytest.raises(DaemonUnreachable, match="too long"):
        Client(str(path)).ask("ping")


def test_a_leftover_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "mw.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    serve_at(path)
    path.write_text("a file")
    serve_at(path)


def test_a_place_where_no_socket_can_be(tmp_path: Path) -> None:
    (tmp_path / "mw.sock").mkdir()
    for path in (tmp_path / "mw.sock", tmp_path / "none" / "mw.sock"):
        with pytest.raises(Refused):
            serve_at(path)


def test_the_limits_hold_for_both_sides() -> None:
    assert server_module.MAX_BACKLOG <= jsonlines.MAX_LINE
    assert json.loads(jsonlines.encode({"a": 1}))
