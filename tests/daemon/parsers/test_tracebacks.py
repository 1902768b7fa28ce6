from __future__ import annotations

import pytest

from middlewatch.daemon.parsers.reader import LogReader
from middlewatch.daemon.parsers.tracebacks import split_error
from middlewatch.sentinels.kit import LogEvent


def events(text: str) -> list[LogEvent]:
    reader = LogReader("run.log")
    said = reader.feed(text.encode(), 7.0) + reader.finish(7.0)
    return [o for o in said if isinstance(o, LogEvent)]


FRAMES = 'Traceback (most recent call last):\n  File "train.py", line 9, in <module>\n    main()\n    ^^^^^^\n'


@pytest.mark.parametrize(
    ("last", "trouble", "exception"),
    [
        ("ValueError: batch size must be positive", "python_exception", "ValueError"),
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
            "cuda_oom",
            "OutOfMemoryError",
        ),
        ("OSError: [Errno 28] No space left on device: '/ckpt/a.pt'", "disk_full", "OSError"),
        (
            "RuntimeError: [enforce fail at inline_container.cc:672] . unexpected pos 640 vs 534",
            "ckpt_write_failed",
            "RuntimeError",
        ),
        (
            "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
            "rank_failed",
            "ChildFailedError",
        ),
        ("ModuleNotFoundError: No module named 'apex'", "launch_error", "ModuleNotFoundError"),
        ("KeyboardInterrupt", "interrupted", "KeyboardInterrupt"),
        ("RuntimeError: KeyboardInterrupt: ", "interrupted", "KeyboardInterrupt"),
        ("RuntimeError: KeyError: 'input'", "python_exception", "KeyError"),
        ("my.pkg.BadThing: it broke", "python_exception", "BadThing"),
        ("_pickle.UnpicklingError: invalid load key, '\\x00'.", "ckpt_corrupt", "UnpicklingError"),
        (
            "_pickle.UnpicklingError: Weights only load failed. This file can still be loaded, to do so you have two options",
            "python_exception",
            "UnpicklingError",
        ),
        (
            "_pickle.UnpicklingError: Weights only load failed. In PyTorch 2.6, we changed the default value",
            "ckpt_corrupt",
            "UnpicklingError",
        ),
        ("socket.timeout: The read operation timed out", "network_error", "timeout"),
        (
            "ray.exceptions.RayTaskError(ValueError): ray::train() (pid=1)",
            "python_exception",
            "RayTaskError",
        ),
    ],
)
def test_the_last_line_gives_the_class(last: str, trouble: str, exception: str) -> None:
    (event,) = events(f"step 1 loss 2.0\n{FRAMES}{last}\n")
    assert (event.trouble, event.line, event.details["traceback_line"]) == (trouble, 6, 2)
    assert event.details["exception"] == exception
    assert event.text in last


def test_a_traceback_as_the_message_of_an_error() -> None:
    """Older data loaders pass on what a worker raised so."""
    inner = FRAMES.replace("train.py", "/srv/data.py")
    text = f"{FRAMES}FileNotFoundError: {inner}FileNotFoundError: [Errno 2] No such file: 'a.jpg'\n"
    (event,) = events(text)
    assert (event.line, event.details["traceback_line"]) == (9, 1)
    assert event.text.endswith("No such file: 'a.jpg'")
    assert event.details["script"] == "train.py"


@pytest.mark.parametrize(
    ("below", "message"),
    [
        ("All the 5 fits failed.\nIt is very likely\n", "All the 5 fits failed."),
        ("\n        An attempt has been made\n", "An attempt has been made"),
        ("", ""),
        ("====\nstep 3 loss 2.0\n", ""),
    ],
)
def test_a_message_that_begins_in_the_line_below(below: str, message: str) -> None:
    (event,) = events(f"{FRAMES}ValueError: \n{below}")
    assert event.trouble == "python_exception"
    assert event.details["message"] == message


def test_two_errors_of_which_one_waits_for_its_message() -> None:
    told = events(f"{FRAMES}ValueError:\n{FRAMES}KeyError: 'x'\n")
    assert [one.details["exception"] for one in told] == ["ValueError", "KeyError"]


def test_a_message_that_is_the_traceback_of_a_worker_is_not_what_went_wrong() -> None:
    inner = FRAMES + "ValueError: labels must be whole numbers\n"
    (event,) = events(f'{FRAMES}joblib.externals.loky._RemoteTraceback: \n"""\n{inner}"""\n')
    assert event.details["exception"] == "ValueError"


def test_the_formatting_of_hydra_is_not_what_went_wrong() -> None:
    text = (
        "An error occurred during Hydra's exception formatting:\nAssertionError()\n"
        f"{FRAMES}AssertionError\n\nDuring handling of the above exception, another exception occurred:\n\n"
        f"{FRAMES}AttributeError: 'PPO' object has no attribute 'logger'\n"
    )
    fatal = [one for one in events(text) if one.fatal]
    assert [one.details["exception"] for one in fatal] == ["AttributeError"]


def test_reasons_that_may_have_been_are_no_evidence() -> None:
    ray = (
        "(raylet) A worker died or was killed by an unexpected system error. Some common causes include: "
        "(1) the process was killed by the OOM killer due to high memory usage, (2) ray stop --force was called, "
        "or (3) the worker crashed unexpectedly due to SIGSEGV or another unexpected error.\n"
    )
    assert {one.trouble for one in events(ray)}.isdisjoint({"host_oom_kill", "segfault"})
    assert events("the process was killed by the OOM killer\n")[0].trouble == "host_oom_kill"


WORKER = """Traceback (most recent call last):
  File "/venv/torch/utils/data/_utils/worker.py", line 349, in _worker_loop
    data = fetcher.fetch(index)
  File "/w/data.py", line 30, in __getitem__
    arrays = np.load(path)
"""


def test_a_file_of_the_data_is_no_checkpoint() -> None:
    bad = "zipfile.BadZipFile: File is not a zip file\n"
    (event,) = events(f"{WORKER}{bad}")
    assert (event.trouble, event.role) == ("python_exception", "root")
    data_set = WORKER.partition("  File")[0] + '  File "/w/data.py", line 30, in __getitem__\n'
    (event,) = events(f"{data_set}    arrays = np.load(path)\n{bad}")  # it has caught it itself
    assert event.trouble == "python_exception"
    own = WORKER.partition("  File")[0] + '  File "/w/recsys/data.py", line 25, in load\n'
    (event,) = events(f"{own}    with np.load(path) as z:\n{bad}")  # a loop without a loader
    assert event.trouble == "python_exception"
    (event,) = events(f"{FRAMES}{bad}")
    assert event.trouble == "ckpt_corrupt"
    library = (
        '  File "/venv/lib/python3.11/site-packages/h5py/_hl/group.py", line 9, in __getitem__\n'
    )
    (event,) = events(f"Traceback (most recent call last):\n{library}    raise\n{bad}")
    assert event.trouble == "ckpt_corrupt"


THREAD = """Exception in thread AsyncSaver:
Traceback (most recent call last):
  File "/usr/lib/python3.11/threading.py", line 1038, in _bootstrap_inner
    self.run()
  File "main.py", line 22, in run
    {call}
"""


@pytest.mark.parametrize(
    "last",
    ["RuntimeError: Parent directory ckpt does not exist.", "KeyError: 'ema'"],
    ids=["said", "in its frames"],
)
def test_a_save_that_fails_in_a_thread_is_a_failed_save(last: str) -> None:
    found = events(f"{THREAD.format(call='torch.save(state, path)')}{last}\n")
    assert [(e.trouble, e.severity, e.fatal) for e in found] == [
        ("python_exception", "info", False),
        ("ckpt_write_failed", "critical", False),
    ]


def test_what_else_ends_a_thread_is_a_note() -> None:
    (event,) = events(f"{THREAD.format(call='self.poll()')}KeyError: 'ema'\n")
    assert (event.trouble, event.severity) == ("python_exception", "info")
    assert event.details["thread"] == "AsyncSaver"


def test_the_threads_of_libraries_are_not_the_programs_own() -> None:
    theirs = THREAD.replace('"main.py"', '"/venv/lib/python3.11/site-packages/tracker/io.py"')
    (event,) = events(f"{theirs.format(call='self.poll()')}KeyError: 'ema'\n")
    assert "thread" not in event.details


def test_a_finaliser_is_no_thread() -> None:
    frames = THREAD.partition("\n")[2].format(call="self.poll()")
    ignored = "Exception ignored in: <function Reader.__del__ at 0x7f>\n"
    both = events(
        f"{THREAD.format(call='self.poll()')}KeyError: 'a'\n{ignored}{frames}KeyError: 'b'\n"
    )
    assert ["thread" in event.details for event in both] == [True, False]


def test_the_words_after_a_bar_are_told_without_the_bar() -> None:
    bar = "Epoch 0:  36%|███▋ | 145/400 [00:24<00:43,  5.84it/s, train_loss=0.240]"
    (event,) = events(f"{bar}start.sh: line 24:    14 Killed    ( exec python train.py )\n")
    assert event.trouble == "process_killed"
    assert event.text.startswith("start.sh: line 24: ")


def test_ranks_are_told_apart_though_their_lines_mix() -> None:
    one, two = ([f"[rank{r}]: {line}" for line in FRAMES.splitlines()] for r in (1, 2))
    mixed = [line for pair in zip(one, two, strict=True) for line in pair]
    text = "\n".join([*mixed, "[rank2]: KeyError: 'b'", "[rank1]: KeyError: 'a'", ""])
    assert [(e.rank, e.text) for e in events(text)] == [(2, "KeyError: 'b'"), (1, "KeyError: 'a'")]


def test_a_library_may_write_time_and_level_before_every_line() -> None:
    text = "".join(
        f"2026-01-02 03:04:{i:02d},123 | ERROR | {line}\n"
        for i, line in enumerate(FRAMES.splitlines())
    )
    (event,) = events(
        text + "2026-01-02 03:04:59,999 | ERROR | IndexError: list index out of range\n"
    )
    assert event.details["exception"] == "IndexError"


def test_chained_exceptions_say_so() -> None:
    text = f"{FRAMES}KeyError: 'x'\n\nDuring handling of the above exception, another exception occurred:\n\n{FRAMES}ValueError: y\n"
    first, second = events(text)
    assert "chained" not in first.details
    assert second.details["chained"] is True


def test_exceptions_that_go_nowhere_are_only_noted() -> None:
    (event,) = events(
        f"Exception ignored in: <function X.__del__ at 0x7f>\n{FRAMES}OSError: [Errno 9] Bad file descriptor\n"
    )
    assert (event.severity, event.fatal, event.role) == ("info", False, "confirmation")


def test_a_log_that_ends_in_the_frames_still_tells() -> None:
    (event,) = events(FRAMES)
    assert (event.trouble, event.line, event.details["traceback_line"]) == (
        "python_exception",
        2,
        1,
    )
    assert (
        event.text == 'File "train.py", line 9, in <module>: the end of this traceback is missing'
    )


def test_of_one_that_breaks_off_in_a_library_the_last_frame_of_the_program_is_told() -> None:
    library = '  File "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py", line 103, in forward\n'
    (event,) = events(f"{FRAMES}{library}    return F.linear(x)\n")
    assert event.text.startswith('File "train.py", line 9')


def test_a_log_that_begins_in_the_frames_tells_too() -> None:
    (event,) = events('  File "train.py", line 9, in main\n    go()\nTypeError: no\n')
    assert event.details["exception"] == "TypeError"


def test_frames_are_no_metrics_and_their_code_no_event() -> None:
    text = (
        FRAMES
        + "    loss = 3.0\n    raise RuntimeError('CUDA out of memory')\nRuntimeError: other\n"
    )
    assert [e.trouble for e in events(text)] == ["python_exception"]


def test_other_output_in_between_does_not_end_it() -> None:
    (event,) = events(f"{FRAMES}wandb: uploading\nstep 3 done\nRuntimeError: late\n")
    assert event.text == "RuntimeError: late"


def test_it_is_given_up_after_a_while() -> None:
    (event,) = events(FRAMES + "hello there\n" * 60)
    assert event.details["traceback_line"] == 1


@pytest.mark.parametrize(
    "line",
    ["Note: this", "INFO: loaded", "wandb: Run summary", "Killed", "10%|# | 1/10", "a b: c", ""],
)
def test_what_is_no_error_line(line: str) -> None:
    assert split_error(line) is None


def _roles(*lines: str) -> list[tuple[str, str]]:
    reader = LogReader("log")
    said = reader.feed("".join(f"{line}\n" for line in lines).encode(), 1.0) + reader.finish(1.0)
    return [(e.role, str(e.text)) for e in said if isinstance(e, LogEvent)]


def test_an_exception_that_is_raised_again_in_the_parent_is_not_the_root() -> None:
    assert _roles(
        "Traceback (most recent call last):",
        '  File "train.py", line 20, in <module>',
        "    for batch in loader:",
        "KeyError: Caught KeyError in DataLoader worker process 0.",
        "Original Traceback (most recent call last):",
        '  File "worker.py", line 309, in _worker_loop',
        "    data = fetcher.fetch(index)",
        "KeyError: 'img_37.png'",
    ) == [
        ("cascade", "KeyError: Caught KeyError in DataLoader worker process 0."),
        ("root", "KeyError: 'img_37.png'"),
    ]


def test_the_traceback_of_a_wrapper_is_not_the_root() -> None:
    said = _roles(
        "Traceback (most recent call last):",
        '  File "wrap.py", line 2, in <module>',
        "    subprocess.run(command, check=True)",
        "subprocess.CalledProcessError: Command '['python', 'a.py']' returned non-zero exit status 1.",
    )
    assert {role for role, _ in said} == {"cascade"}


def test_a_traceback_that_was_cut_off_is_not_the_root() -> None:
    said = _roles("Traceback (most recent call last):", '  File "a.py", line 20, in <module>')
    assert said == [
        ("cascade", 'File "a.py", line 20, in <module>: the end of this traceback is missing')
    ]


def test_a_thread_that_dies_behind_a_bar_did_not_end_the_run() -> None:
    (event,) = events(
        f" 35%|###   | 24263/69763 [2:03:48<7:09:28,  1.77it/s]Exception in thread Thread-4:\n{FRAMES}Exception: gone\n"
    )
    assert (event.severity, event.fatal) == ("info", False)


def test_a_traceback_that_a_launcher_quotes_is_indented() -> None:
    assert _roles(
        "  error_file: /tmp/error.json",
        "  traceback : Traceback (most recent call last):",
        '    File "train.py", line 13, in main',
        '      raise KeyError("label")',
        "      ^^^^^^^^^^^^^^^^^^^^^^^",
        "  KeyError: 'label'",
        "=====================",
    ) == [("root", "KeyError: 'label'")]


def test_what_a_terminated_program_threw_is_in_the_next_line() -> None:
    said = _roles(
        "terminate called after throwing an instance of 'std::out_of_range'",
        "  what():  vector::_M_range_check",
    )
    assert [role for role, _ in said] == ["cascade", "root"]
    assert "_M_range_check" in said[1][1]


LOADS = (
    FRAMES
    + """  File "train.py", line 41, in main
    saved = torch.load(f, map_location="cpu")
  File "/usr/lib/python3.11/gzip.py", line 518, in read
    raise EOFError("Compressed file ended before the "
"""
)


@pytest.mark.parametrize(
    ("frames", "last", "trouble"),
    [
        (LOADS, "EOFError: Compressed file ended before the end-of-stream marker", "ckpt_corrupt"),
        (LOADS, "zlib.error: Error -3 while decompressing data", "ckpt_corrupt"),
        (LOADS, "KeyError: 'optimizer'", "python_exception"),
        (FRAMES, "zlib.error: Error -3 while decompressing data", "python_exception"),
        (
            LOADS.replace('"train.py", line 41', '"/job/dataset.py", line 41'),
            "zlib.error: Error -3 while decompressing data",
            "python_exception",
        ),
    ],
)
def test_a_file_that_ends_too_early_while_a_checkpoint_is_loaded(
    frames: str, last: str, trouble: str
) -> None:
    (event,) = events(f"{frames}{last}\n")
    assert event.trouble == trouble
