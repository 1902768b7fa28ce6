"""A box that the system's ssh reaches: programs run there, and what went wrong in words.

How ssh is called: :mod:`..system.ssh`. What a program is to know that is secret goes through its standard
input, never through a command line.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..system.clock import Clock, SystemClock
from ..system.errors import DaemonUnreachable, MiddlewatchError, UsageError
from ..system.ssh import check_name, ssh_words

PAUSES_S = (0.5, 1.0, 2.0, 4.0)
"""Seconds before each further try. Our choice: all together are less than a box takes to start."""
_SSH_FAILED = 255
"""The status by which ssh says that the connection failed, not the program."""
_NOT_FOUND = 127
_WORDS = 400
_LONGEST = 512 << 20
"""Bytes of an answer at most: the manifest of a million files is 200 MB."""

PROGRAMS = ("$HOME/.middlewatch/bin/middlewatch", "/opt/middlewatch/bin/middlewatch")
"""Where the program is looked for on a box after ``PATH``: ssh starts no login shell, so what a profile
adds is not there. The first is where ``deploy`` puts it, the second what the documentation names."""


class BoxUnreachable(DaemonUnreachable):
    """ssh does not reach the box."""


class RemoteFailed(MiddlewatchError):
    """A program on the box ended with a status that was not expected; ``exit_code`` is that status
    where it is one of middlewatch."""

    def __init__(self, message: str, hint: str = "", exit_code: int = 1) -> None:
        super().__init__(message, hint)
        self.exit_code = exit_code


class Done(NamedTuple):
    """What a program on the box left."""

    status: int
    out: str
    err: str


class Box:
    """A box by its name for ssh."""

    def __init__(self, host: str, clock: Clock | None = None, program: str = "") -> None:
        """``program``: where middlewatch is on it, if that is known."""
        self.host = check_name(host)
        self._clock = clock or SystemClock()
        self._program = program

    def run(self, script: str, given: str = "", *, tries: int = 1 + len(PAUSES_S)) -> Done:
        """Run a script of the POSIX shell with ``given`` on its standard input.

        A connection that fails is tried again, with a longer pause each time. Raises
        :class:`BoxUnreachable`.
        """
        last = ""
        for attempt in range(tries):
            if attempt:
                self._clock.sleep(PAUSES_S[min(attempt, len(PAUSES_S)) - 1])
            done = self._once(script, given)
            if done.status != _SSH_FAILED:
                return done
            last = _last_line(done.err)
            if _is_final(last):
                break
        raise BoxUnreachable(
            f"{self.host} is not reached: {last or 'ssh failed without a word'}",
            f"try: ssh {shlex.quote(self.host)} true",
        )

    def _once(self, script: str, given: str) -> Done:
        argv = [*ssh_words(), "-T", self.host, f"exec sh -c {shlex.quote(script)}"]
        try:
            done = subprocess.run(
                argv,
                input=given.encode("utf-8", "surrogateescape"),
                capture_output=True,
                check=False,
                env={**os.environ, "LC_ALL": "C"},
            )
        except OSError as error:
            raise UsageError(
                f"{argv[0]} cannot be started: {error.strerror}", "install an ssh client"
            ) from None
        status = done.returncode if done.returncode >= 0 else _SSH_FAILED  # ssh itself was killed
        return Done(status, _text(done.stdout), _text(done.stderr))

    def middlewatch(
        self, *words: str, given: str = "", ok: Sequence[int] = (0,), tries: int = 1 + len(PAUSES_S)
    ) -> str:
        """The output of a command of middlewatch on the box.

        Raises :class:`RemoteFailed` with its words, and :class:`BoxUnreachable`.
        """
        done = self.run(script_for(words, self._program), given, tries=tries)
        if done.status in ok:
            return done.out
        if done.status == _NOT_FOUND:
            raise RemoteFailed(
                f"middlewatch is not installed on {self.host}",
                f"middlewatch deploy {shlex.quote(self.host)}",
                DaemonUnreachable.exit_code,
            )
        told = _last_line(done.err) or f"exit status {done.status}"
        code = done.status if done.status in (2, 3, 4) else 1
        raise RemoteFailed(f"{self.host}: {told.removeprefix('middlewatch: ')}", "", code)


def script_for(
    words: Sequence[str], program: str = "", env: Mapping[str, str] | None = None
) -> str:
    """The shell script that runs middlewatch on a box, wherever it is; 127 where it is not."""
    given = "".join(f"{name}={shlex.quote(value)} " for name, value in (env or {}).items())
    places = " ".join(f'"{place}"' for place in PROGRAMS)
    first = f"{shlex.quote(program)} " if program else ""
    command = shlex.join(words)
    return (
        f'for p in {first}"$(command -v middlewatch)" {places}; do '
        f'if [ -x "$p" ]; then {given}exec "$p" {command}; fi; done; exit {_NOT_FOUND}'
    )


def _is_final(words: str) -> bool:
    """Whether trying again cannot help: ssh was let in by nobody, or knows no such host."""
    final = ("Permission denied", "Host key verification failed", "Bad configuration", "Bad port")
    return any(one in words for one in final)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = [line for line in lines if line.startswith("middlewatch: ")]
    return (said or lines or [""])[-1][-_WORDS:]


def _text(data: bytes) -> str:
    return data[:_LONGEST].decode("utf-8", "surrogateescape")
