"""What follows a command: said by the daemon, started once by the supervisor in the command's environment."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.launch import next_command
from middlewatch.daemon.launch.exit_record import read_exit
from middlewatch.daemon.launch.next_command import Order
from middlewatch.daemon.launch.start import Launched, launch

from ...fakes import second_user

SECRET = "only in the environment 秘密"


def until(look: Callable[[], object], why: str) -> None:
    deadline = time.monotonic() + 120
    while not look():
        assert time.monotonic() < deadline, f"it never came: {why}"
        time.sleep(0.02)


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.fixture
def ended(tmp_path: Path) -> Iterator[Launched]:
    """A command that has ended with status 3, whose supervisor waits for a word."""
    fifo = next_command.make(tmp_path)
    made = launch(
        ["sh", "-c", "exit 3"],
        name="toy",
        log=tmp_path / "toy.log",
        exit_file=tmp_path / "exit.json",
        cwd=tmp_path,
        env={**os.environ, "OF_THE_RUN": SECRET},
        following=fifo,
    )
    until(lambda: next_command.waits(tmp_path), "the supervisor waits")
    yield made
    with contextlib.suppress(OSError):
        os.kill(made.supervisor_pid, signal.SIGKILL)


def test_it_is_started_once_in_the_environment_of_the_command(
    tmp_path: Path, ended: Launched
) -> None:
    record = read_exit(ended.exit_file)
    assert record is not None
    assert record.exit_code == 3  # written before anything is waited for
    script = 'echo "$OF_THE_RUN $$" >> here; echo said; echo wrong >&2; pwd'
    said = next_command.say(tmp_path, ["sh", "-c", f"cd {tmp_path} && {script}"])
    assert said
    until(
        lambda: (tmp_path / "here").exists() and "\n" in (tmp_path / "here").read_text(), "a line"
    )
    until(lambda: not lives(ended.supervisor_pid), "the end of the supervisor")
    assert not next_command.waits(tmp_path)
    assert not next_command.say(tmp_path, ["sh", "-c", f"echo twice >> {tmp_path}/here"])
    (line,) = (tmp_path / "here").read_text().splitlines()
    assert line.rpartition(" ")[0] == SECRET
    log = (tmp_path / "next.log").read_text().split()
    assert log == ["said", "wrong", str(tmp_path)]
    assert (tmp_path / "next.log").stat().st_mode & 0o777 == 0o600
    for file in tmp_path.iterdir():
        if file.is_file() and file.name != "here":
            assert SECRET not in file.read_text()


def test_two_words_at_once_are_one(tmp_path: Path, ended: Launched) -> None:
    """A daemon that was killed after the first word says it again when it is back."""
    os.kill(ended.supervisor_pid, signal.SIGSTOP)
    for _ in range(2):
        assert next_command.say(tmp_path, ["sh", "-c", f"echo once >> {tmp_path}/here"])
    os.kill(ended.supervisor_pid, signal.SIGCONT)
    until(lambda: not lives(ended.supervisor_pid), "the end of the supervisor")
    until(lambda: (tmp_path / "here").exists(), "what was started")
    time.sleep(0.2)
    assert (tmp_path / "here").read_text() == "once\n"


def test_nothing_follows(tmp_path: Path, ended: Launched) -> None:
    assert next_command.say(tmp_path, ())
    until(lambda: not lives(ended.supervisor_pid), "the end of the supervisor")
    assert not (tmp_path / "next.log").exists()


def test_a_supervisor_that_waits_can_be_told_to_end(tmp_path: Path, ended: Launched) -> None:
    os.kill(ended.supervisor_pid, signal.SIGTERM)
    until(lambda: not lives(ended.supervisor_pid), "the end of the supervisor")
    assert not next_command.say(tmp_path, ["true"])


def test_a_program_that_is_not_there_leaves_nothing_behind(tmp_path: Path, ended: Launched) -> None:
    assert next_command.say(tmp_path, ["/no/such/program"])
    until(lambda: not lives(ended.supervisor_pid), "the end of the supervisor")


def test_nobody_reads_what_is_no_fifo(tmp_path: Path) -> None:
    assert not next_command.waits(tmp_path)
    (tmp_path / next_command.FIFO).write_text("a file")
    assert not next_command.say(tmp_path, ["true"])
    assert (tmp_path / next_command.FIFO).read_text() == "a file"
    (tmp_path / next_command.FIFO).unlink()
    (tmp_path / next_command.FIFO).symlink_to(tmp_path / "elsewhere")
    assert not next_command.waits(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it becomes another user")
def test_another_user_neither_says_what_is_started_nor_is_told() -> None:
    with second_user.place() as lair:
        fifo = lair / next_command.FIFO
        next_command.make(lair)

        def speak() -> None:
            with pytest.raises(PermissionError):
                os.open(fifo, os.O_RDWR | os.O_NONBLOCK)

        second_user.done(speak)
        fifo.unlink()
        second_user.done(lambda: os.mkfifo(fifo, 0o666))  # in its own folder it may
        listener = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        try:
            assert not next_command.waits(lair)
            assert not next_command.say(lair, ["true"])
            assert os.read(listener, 100) == b""
        finally:
            os.close(listener)


def test_a_line_that_would_be_torn_is_not_written(tmp_path: Path) -> None:
    for words in (["x" * 5000], ["a\nb"]):
        with pytest.raises(ValueError, match="too long"):
            next_command.say(tmp_path, words)


def test_an_order_outlives_its_file(tmp_path: Path) -> None:
    order = Order("gpt-1f3a", 2, 3, 1, "/plan", "broad", ("/out/a",), ("python", "t.py"))
    next_command.write(tmp_path, next_command.ORDER, order.to_json())
    assert Order.from_json(next_command.read(tmp_path, next_command.ORDER) or {}) == order
    spec = order.placed(RunSpec("gpt"))
    assert RunSpec.from_json(spec.to_json()) == spec
    assert (spec.id, spec.attempt, spec.again, spec.again_used) == ("gpt-1f3a", 2, 3, 1)
    (tmp_path / next_command.ORDER).write_text("[")
    assert next_command.read(tmp_path, next_command.ORDER) is None
