"""Runs rsync, ssh and rclone as child processes, which end with this process.

The functions wait for a program in short steps, so that the caller can stop between them.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence

from ..system.worker_main import die_with_parent
from .receipt import MirrorError
from .remote import CopyProgress, Work

_PIECE = 1 << 20
_LONGEST_ANSWER = 64 << 20
_WORDS = 400
_POLL_S = 0.2


def ask(
    argv: Sequence[str], text: str = "", ok: Sequence[int] = (0,), umask: int = -1
) -> Work[str]:
    """Run a program with ``text`` on stdin; returns its stdout once it has ended.

    ``umask``: that of the program; -1: ours.
    Raises :class:`MirrorError` with the end of its stderr when its exit status is not in ``ok``.
    """
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as output:
        given.write(text.encode("utf-8", "surrogateescape"))
        given.seek(0)
        with _started(argv, given.fileno(), output.fileno(), umask) as (process, words):
            while process.poll() is None:
                yield CopyProgress()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_POLL_S)
            if process.returncode not in ok:
                raise MirrorError(_failure(argv, process.returncode, words))
        output.seek(0)
        return output.read(_LONGEST_ANSWER).decode("utf-8", "surrogateescape")


def stream(argv: Sequence[str]) -> Iterator[bytes]:
    """The bytes that a program writes to stdout. Raises :class:`MirrorError` when it fails."""
    read, write = os.pipe2(os.O_CLOEXEC)
    try:
        with _started(argv, subprocess.DEVNULL, write) as (process, words):
            os.close(write)
            write = -1
            while data := os.read(read, _PIECE):
                yield data
            if process.wait() != 0:
                raise MirrorError(_failure(argv, process.returncode, words))
    finally:
        os.close(read)
        if write >= 0:
            os.close(write)


@contextlib.contextmanager
def _started(
    argv: Sequence[str], stdin: int, stdout: int, umask: int = -1
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    parent = os.getpid()
    with tempfile.TemporaryFile() as words:
        try:
            process = subprocess.Popen(
                argv,
                stdin=stdin,
                stdout=stdout,
                stderr=words,
                start_new_session=True,
                preexec_fn=lambda: die_with_parent(parent),
                umask=umask,
                env={**os.environ, "LC_ALL": "C"},
            )
        except OSError as error:
            raise MirrorError(f"{argv[0]} cannot be started: {error.strerror}") from None
        try:
            yield process, words.fileno()
        finally:
            if process.poll() is None:
                with contextlib.suppress(OSError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _failure(argv: Sequence[str], status: int, words: int) -> str:
    size = os.fstat(words).st_size
    text = os.pread(words, 4 * _WORDS, max(0, size - 4 * _WORDS)).decode("utf-8", "replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    reason = "; ".join(lines)[-_WORDS:] or f"exit status {status}"
    return f"{argv[0]}: {reason}"
