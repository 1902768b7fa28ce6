"""Asks a reply topic (ntfy) what was written there; runs in the notifier child only.

Anybody who knows the topic may write to it, so as little as possible of it leaves this function: texts of
the shape of a token, a few of them, and how much else there was. Whether they are genuine is judged by the
daemon, which has the secret.
"""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

from ..config.answers import SHAPE
from ..config.secrets import mask_urls

TIMEOUT_S = (5.0, 10.0)
"""Seconds to connect, and for the answer."""
BYTES = 256 << 10
"""Bytes read of one answer: a thousand messages; what follows them is read the next time."""
TOKENS = 500
"""Tokens handed on of one answer: whoever floods the topic holds up a genuine one for a few looks only, and
costs the daemon some milliseconds for each. Our choice."""
LINE = 16 << 10
"""Bytes of one line: ntfy takes messages of 4 KiB."""
_TOKEN = re.compile(SHAPE)
_ID = re.compile(r"[\w\-]{1,64}")


def address(topic: str, since: str) -> str:
    """Where the messages of a topic after ``since`` are read (docs.ntfy.sh/subscribe/api)."""
    parts = urlsplit(topic)
    path = parts.path.rstrip("/") + "/json"
    return urlunsplit(parts._replace(path=path, query=f"poll=1&since={quote(since)}"))


def poll(job: dict[str, Any]) -> dict[str, Any]:
    """Read a topic once: ``poll`` (its URL) after ``since``. The answer has the ``tokens``, oldest first,
    how many ``other`` messages there were, the id of the newest (``last``), and whether there are ``more``."""
    import requests

    topic = str(job["poll"])
    try:
        with requests.get(
            address(topic, str(job["since"])), timeout=TIMEOUT_S, allow_redirects=False, stream=True
        ) as response:
            if response.status_code != requests.codes.ok:
                told = f"HTTP {response.status_code}: {str(response.reason)[:60]}"
                return {"ok": False, "error": told}
            return {"ok": True, "error": "", **read(response.iter_content(16 << 10))}
    except requests.RequestException as error:
        return {"ok": False, "error": mask_urls(f"{type(error).__name__}", [topic])}


def read(chunks: Any) -> dict[str, Any]:
    """What stands in an answer, as far as it is read."""
    tokens: list[str] = []
    other, last, taken, rest, more = 0, "", 0, b"", False
    for chunk in chunks:
        taken += len(chunk)
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            message = _message(line)
            if message is None:
                continue
            last, text = message
            if _TOKEN.fullmatch(text) and len(tokens) < TOKENS:
                tokens.append(text)
            else:
                other += 1
        more = taken >= BYTES or len(rest) > LINE or len(tokens) >= TOKENS
        if more:
            break
    return {"tokens": tokens, "other": other, "last": last, "more": more}


def _message(line: bytes) -> tuple[str, str] | None:
    """(id, text) of a message; ``None`` for another event, and for what is none."""
    if not line or len(line) > LINE:
        return None
    try:
        doc = json.loads(line)
    except ValueError:
        return None
    if not isinstance(doc, dict) or doc.get("event") != "message":
        return None
    name, text = doc.get("id"), doc.get("message")
    if not isinstance(name, str) or not _ID.fullmatch(name) or not isinstance(text, str):
        return None
    return name, text.strip()
