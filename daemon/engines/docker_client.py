"""The `docker` client of one machine: of this one, or of one that ssh reaches.

Values of variables are handed over by the environment of the client here, and by the standard input of
ssh elsewhere: never in the words of a command.
"""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
from collections.abc import Mapping, Sequence
from typing import IO, NamedTuple

from ..config.secrets import mask
from ..jobs.docker import LOOPBACK
from ..system.errors import DaemonUnreachable, MiddlewatchError, UsageError
from ..system.ssh import check_name, ssh_words

ASK_S = 60.0
"""Seconds for a question to an engine (our choice): it answers in one, unless its disk is full."""
START_S = 180.0
"""Seconds for the start of a container whose image is there (our choice)."""
PULL_S = 7200.0
"""Seconds for an image to come: 20 GiB at 3 MiB/s (our choice)."""
LOG_S = 7200.0
"""Seconds for a log to be copied (our choice): as long as an image."""
_SSH_FAILED = 255
_NOT_FOUND = 127
_WORDS = 400
_ID = re.compile(r"\b[0-9a-f]{64}\b")
_HINTS = (
    (
        "permission denied while trying to connect",
        "as root, or once: sudo usermod -aG docker $USER, and log in again",
    ),
    ("Cannot connect to the Docker daemon", "start the engine: sudo systemctl start docker"),
    (
        "could not select device driver",
        "no GPUs are given to containers: install the NVIDIA Container Toolkit there",
    ),
    (
        '"timeout": executable file not found',
        "the image lacks coreutils: install them in it, or --max-time 0",
    ),
    ("executable file not found", "the command is started inside of the image: is it there?"),
    ("is already in use by container", "another --name, or remove that container"),
    (
        "pull access denied",
        "is the image under [docker] spelled right? docker login, if it is private",
    ),
    ("manifest unknown", "is the tag of the image under [docker] right?"),
)
"""What the engine says, and what to do."""


class Done(NamedTuple):
    """What the client left."""

    status: int
    out: str
    err: str


class Late(MiddlewatchError):
    """The client did not end in time; ``out`` is what it had printed."""

    def __init__(self, message: str, hint: str, out: str) -> None:
        super().__init__(message, hint)
        self.out = out


class NotFound(MiddlewatchError):
    """The engine has no such container."""


class Client:
    """``host``: as ssh knows it; empty, ``localhost`` or the name of this machine: here."""

    def __init__(self, host: str = "") -> None:
        own = socket.gethostname()
        self.is_here = host in ("", own, own.partition(".")[0], *LOOPBACK)
        self.host = host if self.is_here else check_name(host)

    @property
    def where(self) -> str:
        """For sentences: ``on gpu2``; ``here``."""
        return "here" if self.is_here else f"on {self.host}"

    def typed(self, *words: str) -> str:
        """What a person types here to have it run there."""
        line = shlex.join(words)
        return line if self.is_here else f"ssh {shlex.quote(self.host)} {shlex.quote(line)}"

    def docker(self, *words: str, deadline_s: float = ASK_S) -> str:
        """What a command of the client prints. Raises MiddlewatchError in its words."""
        done = self.run(("docker", *words), deadline_s)
        if done.status:
            raise self.failed(done)
        return done.out

    def run(
        self, words: Sequence[str], deadline_s: float, given: Mapping[str, str] | None = None
    ) -> Done:
        """Run a program there to its end, with the variables ``given`` in its environment.

        Raises :class:`Late`, and DaemonUnreachable where ssh does not get there.
        """
        env = {**os.environ, "LC_ALL": "C"}
        if self.is_here:
            env |= given or {}
        try:
            done = subprocess.run(
                self._argv(words, bool(given)),
                input=b"" if self.is_here else _exports(given or {}),
                capture_output=True,
                timeout=deadline_s,
                check=False,
                env=env,
            )
        except subprocess.TimeoutExpired as error:
            raise Late(
                f"{words[0]} {words[1]} did not end within {deadline_s:.0f} s {self.where}",
                f"is the engine well? {self.typed('docker', 'info')}",
                _text(error.stdout or b""),
            ) from None
        except OSError as error:
            raise self._no_program(words[0], error) from None
        found = Done(done.returncode, _text(done.stdout), _text(done.stderr))
        return self._reached(found)

    def copied(self, words: Sequence[str], file: IO[bytes], deadline_s: float) -> None:
        """Run a program, with what it prints in ``file``. Raises MiddlewatchError."""
        try:
            done = subprocess.run(
                self._argv(words, False),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                timeout=deadline_s,
                check=False,
                env={**os.environ, "LC_ALL": "C"},
            )
        except subprocess.TimeoutExpired:
            raise MiddlewatchError(
                f"{words[0]} {words[1]} did not end within {deadline_s:.0f} s {self.where}"
            ) from None
        except OSError as error:
            raise self._no_program(words[0], error) from None
        if done.returncode:
            file.seek(max(0, file.tell() - _WORDS))
            said = _text(file.read()).strip().splitlines()
            raise MiddlewatchError(
                f"{words[0]} {words[1]} {self.where}: {said[-1] if said else ''}"
            )

    def failed(self, done: Done) -> MiddlewatchError:
        """The error of a client that ended with another status than 0."""
        said = _complaint(done.err)
        if not self.is_here and done.status == _NOT_FOUND and "docker" in said:
            return UsageError(f"there is no docker client {self.where}", "install docker there")
        if "No such container" in said:
            return NotFound(f"{said} ({self.where})")
        hint = next((words for sign, words in _HINTS if sign in done.err), "")
        kind = UsageError if hint else MiddlewatchError
        return kind(f"docker {self.where}: {said or f'exit status {done.status}'}", hint)

    def _argv(self, words: Sequence[str], given: bool) -> list[str]:
        if self.is_here:
            return list(words)
        # The values come as lines of the shell: a line may hold what `read` would change.
        script = f"exec {shlex.join(words)}"
        if given:
            script = f'eval "$(cat)"; {script}'
        return [*ssh_words(), "-T", self.host, f"exec sh -c {shlex.quote(script)}"]

    def _reached(self, done: Done) -> Done:
        if not self.is_here and done.status == _SSH_FAILED:
            said = done.err.strip().splitlines()
            raise DaemonUnreachable(
                f"{self.host} is not reached: {said[-1] if said else 'ssh failed without a word'}",
                f"try: ssh {shlex.quote(self.host)} true",
            )
        return done

    def _no_program(self, name: str, error: OSError) -> MiddlewatchError:
        if not self.is_here:
            return UsageError(f"ssh cannot be started: {error.strerror}", "install an ssh client")
        return UsageError(
            f"{name} cannot be started: {error.strerror}",
            "apt-get install docker.io, or https://docs.docker.com/engine/install/",
        )


def container_id(text: str) -> str:
    """The id that ``docker run --detach`` prints, also before a start that fails; empty: there is none."""
    found = _ID.search(text)
    return found[0] if found else ""


def _exports(given: Mapping[str, str]) -> bytes:
    lines = (f"export {name}={shlex.quote(value)}\n" for name, value in given.items())
    return "".join(lines).encode("utf-8", "surrogateescape")


def _complaint(text: str) -> str:
    """The line of the client that says what is wrong: the first, before its advice."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "rror" in line or "denied" in line] or lines
    said = errors[0] if errors else ""
    for lead in ("docker: ", "Error response from daemon: ", "Error: "):
        said = said.removeprefix(lead)
    return mask(said[:_WORDS])


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
