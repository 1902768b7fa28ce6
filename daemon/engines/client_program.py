"""Call the client of an engine: with a deadline, without a terminal, and with what it said as the error."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..config.secrets import mask_lines
from ..system.errors import MiddlewatchError

SAID = 600
"""Characters of what a client said that are told; the last ones, where the reason stands. Our choice."""


class ClientFailed(MiddlewatchError):
    """A client ended with an error. ``said``: what it printed, masked, its end only."""

    def __init__(self, message: str, hint: str = "", said: str = "") -> None:
        super().__init__(message, hint)
        self.said = said


def call(
    words: Sequence[str],
    *,
    deadline_s: float,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    into: Path | None = None,
) -> str:
    """What the client printed on standard output; with ``into`` it goes there, and is not returned.

    Raises ClientFailed when it is not there, ends with an error, or takes longer than ``deadline_s`` seconds.
    """
    named = " ".join(words[:3])
    try:
        if into is None:
            done = _run(words, subprocess.PIPE, deadline_s, cwd, env)
        else:
            with into.open("wb") as file:
                done = _run(words, file, deadline_s, cwd, env)
    except subprocess.TimeoutExpired as error:
        said = f"{named} gave no answer within {deadline_s:.0f} s"
        raise ClientFailed(said, "is the other end reachable from here?") from error
    except OSError as error:
        raise ClientFailed(f"cannot run {named}: {error.strerror}") from error
    out = (done.stdout or b"").decode("utf-8", "replace")
    if done.returncode:
        told = f"{done.stderr.decode('utf-8', 'replace').strip() or out.strip()}"
        said = mask_lines(told)[-SAID:] or f"exit code {done.returncode}"
        raise ClientFailed(f"{named} failed: {said}", said=said)
    return out


def _run(
    words: Sequence[str],
    out: object,
    deadline_s: float,
    cwd: Path | None,
    env: Mapping[str, str] | None,
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        list(words),
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=subprocess.PIPE,
        timeout=deadline_s,
        cwd=cwd,
        env=None if env is None else dict(env),
        check=False,
    )
