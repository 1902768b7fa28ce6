"""A person at a terminal: reads what a command asks there, and types answers."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from typing import Any

PATIENCE_S = 180.0


class Talk:
    """A command whose three streams are a terminal of its own; Ctrl-C there reaches it."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], **given: Any) -> None:
        self._leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
        self._process = subprocess.Popen(
            argv,
            stdin=follower,
            stdout=follower,
            stderr=follower,
            env={**env, "TERM": "xterm", "NO_COLOR": "1"},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0) and None,
            **given,
        )
        os.close(follower)
        self.shown = ""
        self._seen = 0

    def asked(self, words: str) -> None:
        """Wait until the terminal has shown ``words`` since the last answer."""
        deadline = time.monotonic() + PATIENCE_S
        while words not in self.shown[self._seen :]:
            assert time.monotonic() < deadline, f"never asked {words!r}:\n{self.shown}"
            assert self._more() or words in self.shown[self._seen :], (
                f"it ended without {words!r}:\n{self.shown}"
            )

    def types(self, text: str, *, enter: bool = True) -> None:
        """Type something; what was shown before does not count as asked again."""
        self._seen = len(self.shown)
        os.write(self._leader, f"{text}\n".encode() if enter else text.encode())

    def answers(self, *pairs: tuple[str, str]) -> None:
        """(what is asked, what is typed), one after the other."""
        for words, text in pairs:
            self.asked(words)
            self.types(text)

    def ends(self, press: str = "") -> tuple[int, str]:
        """(exit status, all that was shown), at its end. ``press`` is typed again every ten seconds, as a
        person does: a signal between the last look of Python and its read waits for the next key."""
        deadline = time.monotonic() + PATIENCE_S
        again = time.monotonic() + 10.0
        while self._more():
            assert time.monotonic() < deadline, self.shown
            if press and time.monotonic() > again:
                self.types(press, enter=False)
                again += 10.0
        os.close(self._leader)
        return self._process.wait(PATIENCE_S), self.shown

    def _more(self) -> bool:
        """Read what is there; False at the end."""
        if not select.select([self._leader], [], [], 1.0)[0]:
            return True
        try:
            data = os.read(self._leader, 65536)
        except OSError:
            return False
        self.shown += data.decode("utf-8", "replace")
        return bool(data)
