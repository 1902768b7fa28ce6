"""The daemon of another box, asked through one ssh that stays open: ``ssh HOST middlewatch relay``.

A connection that broke is made again, with pauses that grow. In a pause a question is refused at once, so that
who asks once a second is never held up by a box that is gone.
"""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from typing import IO, Any

from ..client import Client, Say
from ..system import json_patch, jsonlines
from ..system.clock import Clock, SystemClock
from ..system.errors import DaemonUnreachable
from ..system.ssh import check_name, ssh_words
from .connection import BoxUnreachable, script_for

PAUSES_S = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
"""Seconds before each further try; the last one from then on. Our choice: a box that restarts is seen within
half a minute of its return."""
BLOCK = 65536
REPEATED = "overview"
"""The question that a screen asks once a second: after the first answer only changes come over the line."""
_WORDS = 300
_NOT_FOUND, _USAGE, _NO_DAEMON = 127, 2, 3


class Relayed(Client):
    """Asks the daemon of one box. Several threads may ask: one question is answered after the other."""

    def __init__(self, host: str, timeout_s: float = 20.0, clock: Clock | None = None) -> None:
        """``host``: as for ssh. ``timeout_s``: for each piece of an answer, and for the connection; a box
        that swaps takes so long to start a Python."""
        super().__init__(host, timeout_s)
        self._host = check_name(host)
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] | None = None
        self._left = b""
        self._asking = ""
        """The arguments of a question whose answers come as changes; empty for any other."""
        self._known: dict[str, Any] = {}
        self._failures = 0
        self._again_at = 0.0
        self._why = DaemonUnreachable("not asked yet")

    def close(self) -> None:
        """End ssh. A question that another thread asks is answered by an exception."""
        process = self._process
        if process is not None:
            process.kill()
        with self._lock:
            if self._process is not None:
                self._broken(EOFError("closed"))

    @contextlib.contextmanager
    def _talk(
        self, timeout: float | None, op: str, args: Mapping[str, Any]
    ) -> Iterator[tuple[Say, Iterator[dict[str, Any]]]]:
        with self._lock:
            if self._process is None:
                self._start()
                self._known.clear()
            self._asking = ""
            if op == REPEATED:
                self._asking = jsonlines.dumps(args)
                args = {**args, "changes": True}
            try:
                self._say(op, args)
                yield self._say, self._answers(self)
            except (OSError, EOFError, DaemonUnreachable) as error:
                raise self._broken(error) from error
            self._failures = 0

    def _start(self) -> None:
        left = self._again_at - self._clock.monotonic()
        if left > 0:
            raise type(self._why)(f"{self._why}; again in {left:.0f} s", self._why.hint)
        words = ssh_words()
        if os.path.basename(words[0]) == "ssh":
            words = [*words, "-C"]  # an answer of 100 kB a second shrinks to a tenth
        argv = [*words, "-T", self._host, f"exec sh -c {shlex.quote(script_for(['relay']))}"]
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._left = b""
        try:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                env={**os.environ, "LC_ALL": "C"},
                start_new_session=True,  # Ctrl+C is for the screen
                bufsize=0,
            )
        except OSError as error:
            self._said.close()
            raise self._later(
                BoxUnreachable(
                    f"{argv[0]} cannot be started: {error.strerror}", "install an ssh client"
                )
            ) from error

    def _say(self, op: str, args: Mapping[str, Any]) -> None:
        stdin = self._process.stdin if self._process else None
        if stdin is None:
            raise EOFError
        stdin.write(jsonlines.encode({"v": jsonlines.VERSION, "op": op, **args}))

    def readline(self, limit: int, /) -> bytes:
        """A line of the answer. Raises OSError when none comes in time."""
        stdout = self._process.stdout if self._process else None
        if stdout is None:
            return b""
        parts, size = [self._left], len(self._left)
        while b"\n" not in parts[-1] and size < limit:
            if not select.select([stdout], [], [], self.timeout_s)[0]:
                raise TimeoutError(f"no answer within {self.timeout_s:g} s")
            block = os.read(stdout.fileno(), BLOCK)
            if not block:
                return b""
            parts.append(block)
            size += len(block)
        line, end, self._left = b"".join(parts).partition(b"\n")
        return line + end

    def _open(self, line: bytes) -> dict[str, Any]:
        """An answer may be what has changed since the one before to the same question (:mod:`.changes`)."""
        answer = super()._open(line)
        if not self._asking:
            return answer
        before = self._known.pop(self._asking, None)
        if "patch" in answer:
            try:
                answer["data"] = json_patch.applied(before, answer["patch"])
            except ValueError as error:
                raise EOFError(f"an answer that makes no sense: {error}") from error
        if "next" not in answer:
            self._known = {self._asking: answer["data"]}
        return answer

    def _broken(self, error: Exception) -> DaemonUnreachable:
        """Ends what is left of the connection, and says why it broke."""
        process, said = self._process, self._said
        self._process = None
        if process is None:
            return self._later(BoxUnreachable(f"{self._host}: {error}"))
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        try:
            # It ends by itself when the connection broke; when the box is silent it does not.
            status = process.wait(0.0 if isinstance(error, TimeoutError) else 2.0)
        except subprocess.TimeoutExpired:
            process.kill()
            status = process.wait()
        words = ""
        if said is not None:
            said.seek(0)
            lines = said.read(65536).decode("utf-8", "replace").split("\n")
            known = [line.strip() for line in lines if line.strip()]
            told = [line for line in known if line.startswith("middlewatch: ")] or known[-1:]
            words = told[0].removeprefix("middlewatch: ")[:_WORDS] if told else ""
            said.close()
        return self._later(self._in_words(status, words, error))

    def _in_words(self, status: int, words: str, error: Exception) -> DaemonUnreachable:
        host = shlex.quote(self._host)
        if status == _NOT_FOUND:
            return BoxUnreachable(
                f"middlewatch is not installed on {self._host}", f"middlewatch deploy {host}"
            )
        if status == _USAGE:
            return BoxUnreachable(
                f"middlewatch on {self._host} is older and has no relay",
                f"ssh -t {host} middlewatch tui",
            )
        if status == _NO_DAEMON:
            return DaemonUnreachable(
                f"no daemon answers on {self._host}", f"ssh {host} middlewatch start"
            )
        return BoxUnreachable(
            f"{self._host}: {words or error or 'the connection broke'}", f"try: ssh {host} true"
        )

    def _later(self, why: DaemonUnreachable) -> DaemonUnreachable:
        self._again_at = self._clock.monotonic() + PAUSES_S[min(self._failures, len(PAUSES_S) - 1)]
        self._failures += 1
        self._why = why
        return why
