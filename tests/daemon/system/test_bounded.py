"""A call that computes for ever ends; one that waits, or ends by itself, is left alone."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap

PRELUDE = """
    import re, signal, time
    from middlewatch.daemon.system import bounded as limits
    from middlewatch.daemon.system.bounded import Overrun, bounded

    limits.install()

    def loop():
        while True:
            pass

    def ended(call, *args):
        try:
            bounded(lambda: call(*args), 1.0)
        except Overrun as error:
            return str(error)
        return "it ended"
"""


def told(program: str) -> list[str]:
    """What a process of its own prints: the timer belongs to the whole process."""
    code = textwrap.dedent(PRELUDE) + textwrap.dedent(program)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_loop_ends_and_the_next_one_too() -> None:
    said = told("print(ended(loop)); print(ended(loop))")
    assert len(said) == 2
    assert all(re.search("did not end", s) for s in said)


def test_a_pattern_that_explodes_ends() -> None:
    assert "did not end" in told("print(ended(re.match, '(a+)+$', 'a' * 64 + 'b'))")[0]


def test_what_is_not_bounded_is_not_interrupted() -> None:
    program = """
        bounded(int)
        end = time.process_time() + 1.8
        while time.process_time() < end:
            pass
        print("left alone")
    """
    assert told(program) == ["left alone"]


def test_waiting_is_no_computing() -> None:
    assert told("print(ended(time.sleep, 1.8))") == ["it ended"]


def test_each_call_has_its_own_time() -> None:
    program = """
        def some():
            end = time.process_time() + 0.3
            while time.process_time() < end:
                pass
        print({ended(some) for _ in range(8)})
    """
    assert told(program) == ["{'it ended'}"]


def test_what_swallows_it_is_interrupted_again() -> None:
    program = """
        def stubborn():
            for _ in range(2):
                try:
                    loop()
                except Overrun:
                    print("swallowed")
            loop()
        print(ended(stubborn))
    """
    said = told(program)
    assert said[:2] == ["swallowed"] * 2
    assert "did not end" in said[2]


def test_a_call_within_a_call() -> None:
    program = """
        def outer():
            print(ended(loop))
            loop()
        print(ended(outer))
    """
    assert [s.endswith("did not end") for s in told(program)] == [True, True]


def test_a_child_process_is_not_interrupted() -> None:
    program = """
        import subprocess, sys
        child = "import time\\nend = time.process_time() + 1.8\\nwhile time.process_time() < end: pass"
        print(bounded(lambda: subprocess.run([sys.executable, "-c", child])).returncode)
    """
    assert told(program) == ["0"]
