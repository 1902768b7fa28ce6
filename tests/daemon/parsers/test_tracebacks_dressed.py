"""Tracebacks as log libraries, launchers, shells and collectors write them."""

from __future__ import annotations

import json

import pytest

from middlewatch.daemon.parsers.reader import LogReader
from middlewatch.daemon.parsers.tracebacks import split_error
from middlewatch.sentinels.kit import LogEvent

FRAMES = 'Traceback (most recent call last):\n  File "train.py", line 9, in <module>\n    main()\n'


def events(text: str) -> list[LogEvent]:
    reader = LogReader("run.log")
    said = reader.feed(text.encode(), 7.0) + reader.finish(7.0)
    return [o for o in said if isinstance(o, LogEvent) and o.severity != "info"]


def led(lead: str, text: str) -> str:
    return "".join(f"{lead}{line}\n" for line in text.splitlines())


@pytest.mark.parametrize(
    "lead",
    [
        "[rank3]: ",
        "[default1]:",
        " 3: ",
        "[1,3]<stderr>:",
        "(train pid=4711, ip=10.0.0.3) ",
        "(pid=4711) ",
        "trainer-1  | ",
        "2026-01-02T03:04:05.123456789Z stderr F ",
        "E0102 03:04:05.678901 140123 main.py:33] ",
        "[2026-01-02 03:04:05,678][__main__][ERROR] - ",
        "worker-1: ",
    ],
)
def test_a_lead_before_every_line(lead: str) -> None:
    (event,) = events(led(lead, FRAMES + "KeyError: 'tokens'"))
    assert (event.trouble, event.details["exception"]) == ("python_exception", "KeyError")
    assert event.details["message"] == "'tokens'"


@pytest.mark.parametrize(
    "lead",
    [
        "ERROR:root:training failed ",
        "2026-01-02 03:04:05 | ERROR | app:run:9 - ",
        "Original ",
        "KeyError                                  ",
    ],
)
def test_a_lead_before_the_head_alone(lead: str) -> None:
    (event,) = events(f"{lead}{FRAMES}KeyError: 'tokens'\n")
    assert event.details["exception"] == "KeyError"


def test_a_box_of_a_hundred_lines() -> None:
    inside = "".join(f"│ ❱ {i} │   call_number_{i}(batch)          │\n" for i in range(100))
    text = f"╭────── Traceback (most recent call last) ──────╮\n{inside}╰{'─' * 40}╯\n"
    (event,) = events(text + "RuntimeError: CUDA error: device-side assert triggered\n")
    assert (event.trouble, event.details["traceback_line"]) == ("cuda_device_assert", 1)


def test_a_box_of_ascii() -> None:
    text = "+----- Traceback (most recent call last) -----+\n| train.py:9 in main |\n+-----+\n"
    (event,) = events(text + "ValueError: bad shape\n")
    assert event.details["exception"] == "ValueError"


def test_ipython() -> None:
    frames = "".join(
        f"File ~/lib/layer{i}.py:{i}, in Layer.call(self, x)\n     11 y = x\n---> 12 return f(y)\n"
        for i in range(40)
    )
    text = f"{'-' * 75}\nTypeError    Traceback (most recent call last)\nCell In[3], line 1\n----> 1 fit()\n\n{frames}"
    (event,) = events(text + "TypeError: f() takes 0 positional arguments\n")
    assert event.details["message"] == "f() takes 0 positional arguments"


def test_old_ipython() -> None:
    text = (
        "TypeError                                 Traceback (most recent call last)\n"
        "<ipython-input-3-ab12> in <module>()\n----> 1 fit()\n\n"
        "/usr/lib/python3.6/site-packages/net/core.py in fit(self)\n    488             y = x\n--> 489         g(y)\n"
    )
    (event,) = events(text + "TypeError: g() takes 0 positional arguments\n")
    assert event.details["exception"] == "TypeError"


def test_loguru() -> None:
    text = (
        "2026-01-02 03:04:05.678 | ERROR    | __main__:<module>:12 - An error has been caught:\n"
        'Traceback (most recent call last):\n\n> File "a.py", line 12, in <module>\n    main()\n    └ <function main at 0x7f>\n\n'
        "ZeroDivisionError: division by zero\n"
    )
    (event,) = events(text)
    assert event.details["exception"] == "ZeroDivisionError"


def test_a_group_of_exceptions_tells_its_members() -> None:
    text = (
        "  + Exception Group Traceback (most recent call last):\n"
        '  |   File "a.py", line 3, in <module>\n  |     raise ExceptionGroup("eg", all)\n'
        "  | ExceptionGroup: eg (2 sub-exceptions)\n"
        "  +-+---------------- 1 ----------------\n"
        '    | Traceback (most recent call last):\n    |   File "a.py", line 1, in f\n    |     f()\n'
        "    | ValueError: one\n"
        "    +---------------- 2 ----------------\n"
        '    | Traceback (most recent call last):\n    |   File "a.py", line 2, in g\n    |     g()\n'
        "    | RuntimeError: CUDA error: out of memory\n"
        "    +------------------------------------\n"
    )
    assert [(e.trouble, e.details["exception"]) for e in events(text)] == [
        ("python_exception", "ExceptionGroup"),
        ("python_exception", "ValueError"),
        ("cuda_oom", "RuntimeError"),
    ]


def test_one_line_of_json() -> None:
    whole = FRAMES + "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"
    record = json.dumps({"level": "error", "msg": "step failed", "exc_info": whole})
    (event,) = events(record + "\n")
    assert (event.trouble, event.details["exception"]) == ("cuda_oom", "RuntimeError")
    assert event.details["requested_bytes"] == 2 * 2**30


def test_lines_joined_by_a_collector() -> None:
    (event,) = events(" ".join((FRAMES + "ValueError: bad shape").split("\n")) + "\n")
    assert (event.details["exception"], event.details["message"]) == ("ValueError", "bad shape")


@pytest.mark.parametrize(
    "announcement",
    [
        "Exception ignored in: <function X.__del__ at 0x7f>",
        "Exception ignored in atexit callback <function f at 0x7f>:",
        "Exception in thread Thread-3 (_pin_memory_loop):",
        "--- Logging error ---",
        "Error in atexit._run_exitfuncs:",
        "Error in sys.excepthook:",
        "Task exception was never retrieved\nfuture: <Task finished name='t'>",
        "ERROR:asyncio:Future exception was never retrieved\nfuture: <Future finished>",
    ],
)
def test_what_goes_nowhere_is_only_noted(announcement: str) -> None:
    assert events(f"{announcement}\n{FRAMES}OSError: [Errno 9] Bad file descriptor\n") == []


def test_what_comes_after_an_ignored_one_counts() -> None:
    text = f"Error in sys.excepthook:\n{FRAMES}KeyError: 1\n\nOriginal exception was:\n{FRAMES}ValueError: 2\n"
    (event,) = events(text)
    assert event.details["exception"] == "ValueError"


def test_an_ignored_exception_without_a_traceback() -> None:
    text = "Exception ignored in: <_io.TextIOWrapper name='<stdout>'>\nBrokenPipeError: [Errno 32] Broken pipe\n"
    (event,) = events(f"{text}{FRAMES}ValueError: 2\n")
    assert event.details["exception"] == "ValueError"


def test_a_printed_stack_is_no_exception() -> None:
    stack = '  File "a.py", line 3, in main\n    step()\n'
    assert events(f"Stack (most recent call last):\n{stack}step 3 loss 2.0\n" + "fine\n" * 60) == []
    assert events(stack) == []


@pytest.mark.parametrize(
    "line",
    [
        "if 'Traceback (most recent call last)' in line: stop",
        "grep -c 'Traceback (most recent call last):' train.log",
        "Paste everything below Traceback (most recent call last) into the report.",
    ],
)
def test_talk_about_tracebacks(line: str) -> None:
    assert events(f"{line}\nstep 1 loss 2.0\nstep 2 loss 1.9\n") == []


def test_bars_of_other_ranks_in_between_do_not_end_it() -> None:
    bars = "".join(f"\rEpoch 1:  {i}%|#  | {i}/100 [00:01<00:09, 9.0it/s]" for i in range(90))
    (event,) = events(f"{FRAMES}{bars}\nValueError: late\n")
    assert event.details["exception"] == "ValueError"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("zlib.error: Error -3 while decompressing data", "error"),
        ("cv2.error: OpenCV(4.5.5) resize.cpp:1: error: (-215) !ssize.empty()", "error"),
        ("_queue.Empty", "Empty"),
        ("torch._dynamo.exc.Unsupported: call_function", "Unsupported"),
        ("jax.errors.JaxRuntimeError: INTERNAL: no", "JaxRuntimeError"),
        ("subprocess.TimeoutExpired: Command 'x' timed out", "TimeoutExpired"),
        ("ExceptionGroup: eg (2 sub-exceptions)", "ExceptionGroup"),
        ("SystemExit: 3", "SystemExit"),
    ],
)
def test_names_of_errors(line: str, name: str) -> None:
    split = split_error(line)
    assert split is not None
    assert split[0] == name


def test_a_restart_in_the_middle_changes_nothing() -> None:
    text = f"Error in sys.excepthook:\nother\n{FRAMES}KeyError: 1\n{FRAMES}ValueError: 2\n"
    whole = LogReader("run.log")
    want = whole.feed(text.encode(), 7.0)
    for cut in range(0, len(text), 7):
        first = LogReader("run.log")
        got = first.feed(text[:cut].encode(), 7.0)
        second = LogReader.restore("run.log", json.loads(json.dumps(first.save())))
        assert got + second.feed(text[cut:].encode(), 7.0) == want
