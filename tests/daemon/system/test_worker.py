from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from middlewatch.daemon.system import descriptors
from middlewatch.daemon.system.descriptors import LEAST_RESERVE, Descriptors, Spare, Use
from middlewatch.daemon.system.worker import LONGEST_LINE, JsonWorker

ECHO = "import sys\nfor line in sys.stdin: print(line, end='', flush=True)"
PATIENCE_S = 120.0


def python(program: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", "-c", program)


@contextmanager
def child_of(
    program: str, deadline_s: float = 5.0, spare: Spare | None = None
) -> Iterator[JsonWorker]:
    child = JsonWorker(python(program), deadline_s, spare=spare)
    try:
        yield child
    finally:
        child.close()
        until(lambda: child.stuck_pid is None)


def until(condition: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + PATIENCE_S
    while not (met := condition()):
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.005)
    return met


def heard(child: JsonWorker) -> list[dict[str, Any]]:
    """Wait for the child's next words, or its end."""
    deadline = time.monotonic() + PATIENCE_S
    while (fd := child.fileno()) is not None:
        assert select.select([fd], [], [], deadline - time.monotonic())[0], "not in time"
        if answers := child.answers():
            return answers
    return []


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_question_is_answered() -> None:
    with child_of(ECHO) as child:
        assert child.fileno() is None
        assert not child.alive
        for number in range(3):
            assert child.ask({"number": number}, 100.0 + number)
            assert heard(child) == [{"number": number}]
        assert child.starts == 1


def test_only_one_question_is_open_at_a_time() -> None:
    with child_of(ECHO) as child:
        assert child.ask({"first": 1}, 0.0)
        assert not child.ask({"second": 2}, 0.1)
        assert child.waiting
        assert heard(child) == [{"first": 1}]
        assert not child.waiting


def test_a_question_longer_than_the_pipe_is_sent_in_pieces() -> None:
    with child_of(ECHO) as child:
        text = "x" * 300_000
        assert child.ask({"text": text}, 0.0)
        assert until(lambda: (child.overdue(0.0), child.answers())[1]) == [{"text": text}]


def test_lateness_counts_from_the_deadline() -> None:
    child = JsonWorker(python("import time; time.sleep(60)"), 2.0, start_deadline_s=10.0)
    assert child.overdue(5.0) == 0
    assert child.ask({}, 100.0)
    assert child.overdue(109.0) == 0
    assert child.overdue(113.0) == pytest.approx(3.0)
    child.close()
    assert child.overdue(200.0) == 0


def test_a_child_that_hangs_is_replaced_after_a_pause() -> None:
    with child_of("import time; time.sleep(60)") as child:
        assert child.ask({}, 100.0)
        pid = child.pid
        assert pid is not None
        child.overdue(110.0)
        child.restart()
        assert not child.alive
        assert child.fileno() is None
        until(lambda: child.stuck_pid is None)
        assert child.exit_status == -signal.SIGKILL
        assert not child.ask({}, 110.5)
        assert child.ask({}, 111.0)
        assert child.pid != pid


@pytest.mark.parametrize(
    ("spare", "seen"),
    [(None, [1, 2, 4, 8, 16, 32, 60, 60]), (Spare(), [1, 2, 4, 5, 5, 5, 5, 5])],
    ids=["usual", "urgent"],
)
def test_pauses_grow_to_a_minute_or_stay_short(spare: Spare | None, seen: list[int]) -> None:
    with child_of("raise SystemExit(3)", spare=spare) as child:
        mono, pauses = 0.0, []
        assert child.ask({}, mono)
        for _ in range(8):
            assert heard(child) == []
            until(lambda: child.stuck_pid is None)
            pauses.append(next(s for s in range(1, 100) if child.ask({}, mono + s)))
            mono += pauses[-1]
        assert pauses == seen


def test_a_child_that_was_steady_is_replaced_soon() -> None:
    with child_of(ECHO) as child:
        child._pause_s = 60.0
        assert child.ask({}, 0.0)
        heard(child)
        assert child.ask({}, 100.0)
        child.restart()
        until(lambda: child.stuck_pid is None)
        assert child.ask({}, 101.0)


def test_how_it_ended_and_its_last_words_are_kept() -> None:
    with child_of("import sys; sys.exit('x' * 5000 + ' no GPU today')") as child:
        assert child.ask({}, 0.0)
        assert heard(child) == []
        until(lambda: child.stuck_pid is None)
        assert child.exit_status == 1
        assert child.last_words.endswith("no GPU today")
        assert len(child.last_words) <= 2048


def test_a_child_that_fills_stderr_does_not_block() -> None:
    with child_of("import sys; sys.stderr.write('e' * 900_000); print('{}', flush=True)") as child:
        assert child.ask({}, 0.0)
        assert until(lambda: (child.overdue(0.0), child.answers())[1]) == [{}]


def test_a_program_that_is_not_there() -> None:
    child = JsonWorker(("/no/such/program",), 1.0)
    assert child.ask({}, 0.0)
    assert heard(child) == []
    assert "/no/such/program: No such file" in child.last_words
    child.close()


def test_an_answer_given_just_before_the_end_is_not_lost() -> None:
    with child_of("print('{\"last\": 1}', flush=True)") as child:
        assert child.ask({}, 0.0)
        until(lambda: child.pid is not None and not running(child.pid))
        assert heard(child) == [{"last": 1}]


@pytest.mark.parametrize(
    "line",
    [
        *("hello", "[1]", "3", "null", "{", "\\xff\\xfe", ""),
        pytest.param("[" * 60_000, id="deep"),
        pytest.param("9" * 10_000, id="long number"),
    ],
)
def test_garbage_is_passed_over(line: str) -> None:
    program = f"import os, sys; os.write(1, b'{line}\\n' + b'{{}}\\n'); sys.stdin.read()"
    with child_of(program) as child:
        assert child.ask({}, 0.0)
        assert heard(child) == [{}]


def test_a_huge_line_is_dropped_and_what_follows_is_read() -> None:
    program = (
        "import sys\nfor _ in range(40): sys.stdout.write('x' * 100_000)\n"
        "print('\\n{\"after\": 1}', flush=True); sys.stdin.read()"
    )
    with child_of(program) as child:
        assert child.ask({}, 0.0)
        assert until(child.answers) == [{"after": 1}]
        assert len(child._partial) <= LONGEST_LINE


def test_a_flood_of_answers_is_bounded() -> None:
    with child_of("while True: print('{}')") as child:
        assert child.ask({}, 0.0)
        for _ in range(20):
            assert len(child.answers()) <= 64


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    lines=st.lists(
        st.one_of(
            st.dictionaries(st.text(), st.integers() | st.text()).map(
                lambda d: json.dumps(d).encode()
            ),
            st.binary().map(lambda b: b.replace(b"\n", b"")),
        )
    ),
    cuts=st.lists(st.integers(1, 50)),
)
def test_lines_survive_any_cut(lines: list[bytes], cuts: list[int]) -> None:
    child = JsonWorker(("true",), 1.0)
    data, found = b"".join(line + b"\n" for line in lines), []
    for cut in cuts:
        found += child._objects(data[:cut])
        data = data[cut:]
    found += child._objects(data)
    objects = []
    for line in lines:
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            objects.append(value)
    assert found == objects


def test_it_is_niced_leads_its_session_and_gets_a_clean_signal_mask() -> None:
    blocked = {signal.SIGTERM, signal.SIGINT}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
    try:
        with child_of(ECHO) as child:
            assert child.ask({}, 0.0)
            heard(child)
            pid = child.pid
            assert pid is not None
            assert os.getpriority(os.PRIO_PROCESS, pid) >= 10
            assert os.getsid(pid) == pid
            status = Path(f"/proc/{pid}/status").read_text()
            assert "SigBlk:\t0000000000000000" in status
            # Only the three pipes: nothing of the daemon's is handed down.
            assert {int(fd.name) for fd in Path(f"/proc/{pid}/fd").iterdir()} == {0, 1, 2}
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def test_it_dies_with_its_parent() -> None:
    program = """
import select, signal, sys
from middlewatch.daemon.system.worker import JsonWorker
child = JsonWorker((sys.executable, "-c", "import time; print('{}', flush=True); time.sleep(600)"), 9)
assert child.ask({}, 0.0)
select.select([child.fileno()], [], [])
print(child.pid, flush=True)
signal.pause()
"""
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert running(pid)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    until(lambda: not running(pid))


def test_what_the_child_started_ends_with_it() -> None:
    program = (
        "import subprocess, sys\n"
        "other = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print('{\"pid\": %d}' % other.pid, flush=True); sys.stdin.read()"
    )
    with child_of(program) as child:
        assert child.ask({}, 0.0)
        (answer,) = heard(child)
        assert running(answer["pid"])
    until(lambda: not running(answer["pid"]))


PR_SET_PTRACER, PTRACE_SEIZE = 0x59616D61, 0x4206


def test_no_second_child_beside_one_that_cannot_be_reaped() -> None:
    """A killed process stays a zombie that its parent cannot reap while a debugger holds it."""
    tracee = f"import ctypes, sys; ctypes.CDLL(None).prctl({PR_SET_PTRACER}, ctypes.c_ulong(-1))\n"
    with child_of(tracee + ECHO) as child:
        assert child.ask({}, 0.0)
        heard(child)
        pid = child.pid
        assert pid is not None
        tracer = subprocess.Popen(
            python(
                "import ctypes, sys\n"
                f"print(ctypes.CDLL(None).ptrace({PTRACE_SEIZE}, {pid}, None, None), flush=True)\n"
                "sys.stdin.read()"
            ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        with tracer:
            assert tracer.stdin is not None
            assert tracer.stdout is not None
            if int(tracer.stdout.readline()) != 0:
                pytest.skip("ptrace is not permitted here")
            assert child.ask({}, 1.0)
            child.restart()
            until(lambda: not running(pid))
            assert child.stuck_pid == pid
            assert not child.ask({}, 1000.0)
            assert child.starts == 1
            tracer.stdin.close()
        until(lambda: child.stuck_pid is None)
        assert child.exit_status == -signal.SIGKILL
        assert child.ask({}, 2000.0)
        assert child.starts == 2


def test_close_twice() -> None:
    child = JsonWorker(python(ECHO), 1.0)
    child.close()
    assert child.ask({}, 0.0)
    child.close()
    child.close()
    assert child.fileno() is None
    until(lambda: child.stuck_pid is None)


def test_what_a_closed_one_leaves_is_reaped_by_the_others() -> None:
    gone = JsonWorker(python(ECHO), 5.0)
    assert gone.ask({"n": 1}, 0.0)
    pid = gone.pid
    gone.close()
    with child_of(ECHO) as other:
        other.ask({"n": 2}, 0.0)
        until(lambda: other.stuck_pid is None and not Path(f"/proc/{pid}").exists())


def test_a_child_has_the_limit_that_the_daemon_was_started_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(descriptors, "_before", 77)
    limits = (
        "import resource; print('{\"soft\": %d}' % resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    )
    with child_of(limits) as child:
        assert child.ask({}, 0.0)
        assert heard(child) == [{"soft": 77}]


def test_where_descriptors_are_scarce_a_child_that_can_wait_is_ended_and_started_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    free = 100
    budget = Descriptors(limit=lambda: (descriptors._open_now() or 0) + free)
    monkeypatch.setattr(descriptors, "own", budget)
    urgent = JsonWorker(python(ECHO), 5.0)
    child = JsonWorker(python(ECHO), 5.0, can_wait=True)
    try:
        for one in (urgent, child):
            assert one.ask({"n": 1}, 0.0)
            assert not budget._kept[Use.IDLE_CHILD], "it is needed"
            assert heard(one) == [{"n": 1}]
        free = LEAST_RESERVE - 1
        budget.settle()
        assert urgent.alive
        assert not child.alive
        until(lambda: child.stuck_pid is None)
        free = 8
        assert not child.ask({"n": 2}, 0.1)
        assert (child.waits, child.start_error) == (True, "")
        assert urgent.ask({"n": 2}, 0.1)
        free = LEAST_RESERVE
        assert child.ask({"n": 2}, 0.2), "nothing has failed: there is no pause"
        assert not child.waits
        assert heard(child) == [{"n": 2}]
        assert child.starts == 2
    finally:
        urgent.close()
        child.close()
        until(lambda: urgent.stuck_pid is None and child.stuck_pid is None)
    assert not budget._kept[Use.IDLE_CHILD]


def test_a_child_that_must_not_wait_has_its_descriptors_already(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(descriptors, "own", Descriptors(limit=lambda: 0))
    before = descriptors.own.figures().used
    child = JsonWorker(python(ECHO), 5.0, spare=Spare())
    for start in range(2):
        assert descriptors.own.figures().used == before + 6
        assert child.ask({"n": start}, 100.0 * start)
        assert descriptors.own.figures().used == before + 6, "three are held for the next start"
        assert heard(child) == [{"n": start}]
        child.restart()
        until(lambda: child.stuck_pid is None)
    child.close()
    assert descriptors.own.figures().used == before
