"""The answers to a question that is asked again and again, as what changed: at the far end of ``relay``.

A question with ``"changes": true`` is answered whole the first time, and after that by a patch of the answer before
to the same question on this connection. The daemon knows nothing of it: what is remembered costs its memory in
the relay, while somebody looks.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from ..system import json_patch, jsonlines

_MOST = 8
"""Questions whose last answer is remembered: the screen asks one."""


class Changes:
    """Between one who asks and a daemon. Answers come in the order of the questions; one that is to be followed has
    no end, and from it on all is handed on as it is."""

    def __init__(self) -> None:
        self._asked: deque[str] = deque()
        self._known: dict[str, Any] = {}
        self._plain = False

    def question(self, line: bytes) -> None:
        """A line on its way to the daemon."""
        try:
            asked = jsonlines.decode(line)
        except ValueError:
            asked = {}
        self._plain = self._plain or asked.get("op") == "follow"
        wanted = asked.pop("changes", False) is True and "after" not in asked
        self._asked.append(jsonlines.dumps(asked) if wanted else "")

    def answer(self, line: bytes) -> bytes:
        """What is told of a line that came from the daemon; one without its end is too long to be ours."""
        self._plain = self._plain or not line.endswith(b"\n")
        key = self._asked.popleft() if self._asked and not self._plain else ""
        if not key:
            return line
        try:
            answer = jsonlines.decode(line)
        except ValueError:
            return line
        before, data = self._known.pop(key, None), answer.get("data")
        if not answer.get("ok") or not isinstance(data, dict) or "next" in answer:
            return line
        while len(self._known) >= _MOST:
            del self._known[next(iter(self._known))]
        self._known[key] = data
        if before is None:
            return line
        patch = jsonlines.encode({"ok": True, "patch": json_patch.diff(before, data)})
        return min(patch, line, key=len)
