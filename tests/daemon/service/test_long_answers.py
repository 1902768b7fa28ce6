from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.client import PAGE_ROWS, Client
from middlewatch.daemon.service.long_answers import NOT_YET, PAGE_BYTES, LongAnswer
from middlewatch.daemon.service.server import SLICE_BYTES
from middlewatch.daemon.system import jsonlines
from middlewatch.daemon.system.errors import DaemonUnreachable

from ...fakes.house import PATIENCE_S, House, until

Make = Callable[..., House]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Make]:
    made: list[House] = []

    def make(**handlers: Any) -> House:
        made.append(House(tmp_path / "mw.sock", handlers))
        return made[0]

    yield make
    made[0].close()


def numbers(count: int) -> list[dict[str, Any]]:
    return [{"n": n, "text": "x" * (n % 50)} for n in range(count)]


class Asking:
    """One connection, on which several questions follow each other."""

    def __init__(self, house: House) -> None:
        self.sock = house.call()
        self.answers: IO[bytes] = self.sock.makefile("rb")

    def __enter__(self) -> Asking:
        return self

    def __exit__(self, *error: object) -> None:
        self.answers.close()
        self.sock.close()

    def say(self, op: str, **args: Any) -> None:
        self.sock.sendall(jsonlines.encode({"op": op, **args}))

    def hear(self) -> dict[str, Any]:
        return jsonlines.decode(self.answers.readline())

    def ask(self, op: str, **args: Any) -> dict[str, Any]:
        self.say(op, **args)
        return self.hear()


# ------------------------------------------------------------------------ one line


def test_without_a_limit_it_is_one_answer_as_ever(house: Make) -> None:
    home = house(
        runs=lambda q: LongAnswer(numbers(5000)),
        overview=lambda q: LongAnswer(iter(numbers(3)), {"host": "box", "at": None}, "runs"),
        none=lambda q: LongAnswer([], {}, "checkpoints"),
    )
    with Asking(home) as asking:
        assert asking.ask("runs") == {"ok": True, "data": numbers(5000)}
        data = {"host": "box", "at": None, "runs": numbers(3)}
        assert asking.ask("overview") == {"ok": True, "data": data}
        assert asking.ask("none") == {"ok": True, "data": {"checkpoints": []}}


def test_questions_behind_it_are_answered_in_order(house: Make) -> None:
    home = house(runs=lambda q: LongAnswer(numbers(3000)))
    with Asking(home) as asking:
        for _ in range(3):
            asking.say("runs")
            asking.say("ping", n=7)
        for _ in range(3):
            assert len(asking.hear()["data"]) == 3000
            assert asking.hear()["data"] == {"n": 7}


def test_others_are_heard_while_it_is_made(house: Make) -> None:
    heard = threading.Event()

    def rows() -> Iterator[Any]:
        yield 1
        while not heard.is_set():
            yield NOT_YET
        yield 2

    home = house(runs=lambda q: LongAnswer(rows()))
    with Asking(home) as asking:
        asking.say("runs")
        assert home.ask("ping", n=3) == {"n": 3}
        heard.set()
        assert asking.hear()["data"] == [1, 2]


def test_it_is_made_no_faster_than_it_is_read(house: Make) -> None:
    made: list[int] = []
    ended = threading.Event()

    def rows() -> Iterator[Any]:
        try:
            for n in range(1_000_000):
                made.append(n)
                yield "x" * 1000
        finally:
            ended.set()

    home = house(runs=lambda q: LongAnswer(rows()))
    with Asking(home) as asking:
        asking.say("runs")
        until(lambda: any(len(c.unsent) >= SLICE_BYTES for c in home.server._clients.values()), "")
        for _ in range(20):
            assert home.ask("ping", n=3) == {"n": 3}
        buffered = asking.sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) * 4
        assert len(made) * 1000 < SLICE_BYTES + buffered + (1 << 16)
    assert ended.wait(PATIENCE_S)  # nothing is kept for a client that is gone
    assert home.bugs == []


# ------------------------------------------------------------------------ pages


def test_pages_are_of_one_list(house: Make) -> None:
    known = numbers(5)
    home = house(incidents=lambda q: LongAnswer(iter(list(known)), {"at": len(known)}, "rows"))
    with Asking(home) as asking:
        first = asking.ask("incidents", limit=2)
        known[:] = [{"n": -1}, *numbers(9)]  # comes, and moves all others
        second = asking.ask("incidents", limit=2, after=first["next"])
        assert asking.ask("ping", n=1)["data"] == {"n": 1}
        third = asking.ask("incidents", limit=2, after=second["next"])
        parts = [one["data"]["rows"] for one in (first, second, third)]
        assert parts == [numbers(5)[:2], numbers(5)[2:4], numbers(5)[4:]]
        assert third["data"]["at"] == 5
        assert "next" not in third


def test_a_page_that_is_not_kept_is_refused(house: Make) -> None:
    lists = {"incidents": lambda q: LongAnswer(numbers(9)), "runs": lambda q: LongAnswer([1, 2])}
    home = house(**lists)
    with Asking(home) as asking, Asking(home) as other:
        first = asking.ask("incidents", limit=2)["next"]
        second = asking.ask("incidents", limit=2, after=first)["next"]
        assert second != first
        for one, op, after in (
            (other, "incidents", second),  # of another connection
            (asking, "incidents", first),  # given already
            (asking, "runs", second),  # of another list
            (asking, "incidents", 7),
            (asking, "ping", "1.1"),
        ):
            answer = one.ask(op, limit=2, after=after)
            assert (answer["ok"], answer["exit_code"]) == (False, 2)
            assert "not kept" in answer["error"]
        assert asking.ask("incidents", limit=100, after=second)["data"] == numbers(9)[4:]
        assert not asking.ask("incidents", limit=100, after=second)["ok"]  # that was the last one


@pytest.mark.parametrize("limit", [0, -1, True, "9", 1.5])
def test_a_limit_is_a_whole_number(house: Make, limit: object) -> None:
    with Asking(house(runs=lambda q: LongAnswer([1]))) as asking:
        answer = asking.ask("runs", limit=limit)
        assert (answer["ok"], answer["exit_code"]) == (False, 2)
        assert asking.ask("runs", limit=1) == {"ok": True, "data": [1]}


def test_a_page_ends_before_its_line_is_too_long(house: Make) -> None:
    rows = ["x" * (PAGE_BYTES // 2)] * 40
    home = house(runs=lambda q: LongAnswer(rows))
    with Asking(home) as asking:
        assert len(asking.ask("runs", limit=1000)["data"]) == 2
    assert sum(map(len, rows)) > jsonlines.MAX_LINE
    assert home.ask("runs") == rows


def test_the_client_gathers_all_pages(house: Make) -> None:
    count = 3 * PAGE_ROWS + 1
    asked: list[Any] = []

    def overview(question: Any) -> LongAnswer:
        asked.append(question["limit"])
        return LongAnswer(numbers(count), {"host": "box"}, "runs")

    home = house(runs=lambda q: LongAnswer(numbers(count)), overview=overview)
    assert home.ask("runs") == numbers(count)
    assert home.ask("overview") == {"host": "box", "runs": numbers(count)}
    assert asked == [PAGE_ROWS]


def test_a_daemon_that_knows_no_pages(house: Make) -> None:
    home = house(runs=lambda q: numbers(4), checkpoints=lambda q: {"checkpoints": numbers(3)})
    assert home.ask("runs") == numbers(4)
    assert home.ask("checkpoints") == {"checkpoints": numbers(3)}


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=5,
)


@given(rows=st.lists(PLAIN, max_size=12), limit=st.integers(1, 5))
def test_the_pages_of_any_list_are_the_list(rows: list[Any], limit: int) -> None:
    mixed = [one for row in rows for one in (NOT_YET, row)] + [NOT_YET]
    answer, found, pages = LongAnswer(mixed, {"a": 1}, "list"), list[Any](), 0
    while pages == 0 or answer.next:
        said = jsonlines.decode(b"".join(answer.page(limit)))
        assert said.get("next", "") == answer.next
        assert said["data"]["a"] == 1
        found += said["data"]["list"]
        pages += 1
    assert jsonlines.dumps(found) == jsonlines.dumps(rows)
    assert pages == max(1, -(-len(rows) // limit))


# ------------------------------------------------------------------------ what goes wrong


def breaks(after: int) -> Iterator[Any]:
    yield from ("x" * 1000 for _ in range(after))
    raise ZeroDivisionError("a bug")


def test_a_bug_in_the_first_rows_is_an_answer(house: Make) -> None:
    home = house(runs=lambda q: LongAnswer(breaks(3)))
    with Asking(home) as asking:
        answer = asking.ask("runs")
        assert (answer["exit_code"], "a bug" in answer["error"]) == (5, True)
        assert asking.ask("ping", n=1)["data"] == {"n": 1}
    assert len(home.bugs) == 1


def test_a_bug_behind_what_was_sent_ends_the_connection(house: Make) -> None:
    home = house(runs=lambda q: LongAnswer(breaks(5000)))
    with (
        Asking(home) as asking,
        pytest.raises(ValueError, match=r"Unterminated|delimiter|Expecting"),
    ):
        asking.ask("runs")
    with pytest.raises(DaemonUnreachable):
        Client(str(home.path), PATIENCE_S).ask("runs")
    assert home.ask("ping", n=1) == {"n": 1}
    assert home.bugs


# ------------------------------------------------------------------------ following


def test_changes_come_behind_the_list_that_is_being_sent(house: Make) -> None:
    told = threading.Event()

    def rows() -> Iterator[Any]:
        yield "known"
        while not told.is_set():
            yield NOT_YET
        yield "known too"

    home = house(follow=lambda q: LongAnswer(rows()))
    with Asking(home) as asking:
        asking.say("follow", limit=1)
        until(lambda: any(c.follows for c in home.server._clients.values()), "it follows")
        home.publish("news")
        home.do(told.set)
        assert asking.hear()["data"] == ["known", "known too"]
        assert asking.hear()["data"] == "news"
        home.publish("more")
        assert asking.hear()["data"] == "more"


def test_changes_that_nobody_reads_are_not_kept(house: Make) -> None:
    home = house(follow=lambda q: LongAnswer("x" * 1000 for _ in range(1_000_000)))
    with Asking(home) as asking:
        asking.say("follow")
        until(lambda: any(c.follows for c in home.server._clients.values()), "it follows")
        for _ in range(12):
            home.publish("x" * (1 << 20))
        until(lambda: not home.server._clients, "it was dropped")
    assert home.ask("ping", n=1) == {"n": 1}
