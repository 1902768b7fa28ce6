"""Hosts that the messages of network errors name."""

from __future__ import annotations

import re

_HOST = re.compile(
    r"(?:https?://|host: |host='|resolve ')(?P<host>[\w-]+(?:\.[\w-]+)+(?::\d{1,5})?)"
)


def host_in(text: str) -> str:
    """The first host of a text, with its port if that stands behind it; empty if it names none."""
    found = _HOST.search(text)
    return found["host"] if found else ""
