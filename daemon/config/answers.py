"""Tokens by which a person answers from the phone: what is asked for, of which incident, until when.

A token is sent with the push that it answers and comes back over a topic that anybody may write to. It
holds for one action of one incident, once, for some hours, and it was made by this box: its last part is
the HMAC-SHA256 of the others under a secret that never leaves the state directory. No token exists for
anything that touches a run.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import stat
from dataclasses import dataclass, field
from pathlib import Path

from ..system.private import open_private

ACTIONS = ("ack", "silence", "log")
"""Acknowledge the incident; no push about its class and run for an hour; the last lines of the log."""
SHAPE = r"mw1-(ack|silence|log)-([0-9a-f]{6})-([0-9a-z]{1,9})-([0-9a-f]{16})-([0-9a-f]{32})"
"""Action, incident, end in epoch seconds (base 36), a number used once, 128 bits of the HMAC."""
_TOKEN = re.compile(SHAPE)
_KEY_BYTES = 32
KEPT = 500
"""Used tokens that are remembered, those that end last: more than a box sends in a day. Our choice; each
costs a hundred bytes."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a genuine token asks for."""

    action: str
    incident: str
    nonce: str
    ends_at: float


@dataclass
class Seal:
    """Makes tokens and opens them."""

    key: bytes
    used: dict[str, float] = field(default_factory=dict)
    """Number of a token that was used -> when the token ends."""

    def token(self, action: str, incident: str, ends_at: float) -> str:
        """A token for one action of one incident until ``ends_at`` (epoch seconds)."""
        told = f"mw1-{action}-{incident}-{_base36(int(ends_at))}-{secrets.token_hex(8)}"
        return f"{told}-{self._mac(told)}"

    def open(self, token: str, now: float) -> Answer | str:
        """What it asks for, and it is used up; else the reason why it counts for nothing."""
        match = _TOKEN.fullmatch(token)
        if match is None:
            return "it is no token"
        told = token[: match.start(5) - 1]
        if not hmac.compare_digest(self._mac(told), match[5]):
            return "it was not made by this box"
        asked = Answer(match[1], match[2], match[4], float(int(match[3], 36)))
        if asked.ends_at <= now:
            return "it has expired"
        if asked.nonce in self.used:
            return "it was used before"
        self.used = {n: at for n, at in self.used.items() if at > now}
        if len(self.used) >= KEPT:
            return "too many were used"
        self.used[asked.nonce] = asked.ends_at
        return asked

    def _mac(self, told: str) -> str:
        return hmac.new(self.key, told.encode(), hashlib.sha256).hexdigest()[:32]


def _base36(number: int) -> str:
    digits = ""
    while number:
        number, rest = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[rest] + digits
    return digits or "0"


def secret_of(path: Path, *, anew: bool = False) -> bytes:
    """The secret of this box, made if it is not there; only its owner can read it. ``anew``: another one
    than before, so that no token of before counts. Raises OSError."""
    fd = open_private(path, os.O_RDWR)
    try:
        if stat.S_IMODE(os.fstat(fd).st_mode) != 0o600 or os.fstat(fd).st_uid != os.geteuid():
            raise OSError(f"{path} can be read by others")
        known = os.read(fd, 4 * _KEY_BYTES).strip()
        if not anew and re.fullmatch(rb"[0-9a-f]{%d}" % (2 * _KEY_BYTES), known):
            return bytes.fromhex(known.decode())
        fresh = secrets.token_bytes(_KEY_BYTES)
        os.ftruncate(fd, 0)
        os.pwrite(fd, fresh.hex().encode() + b"\n", 0)
        os.fsync(fd)
        return fresh
    finally:
        os.close(fd)
