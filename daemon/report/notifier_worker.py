"""The notifier: a worker that is started on demand, pushes through Apprise, and ends when idle.

Apprise takes 50 MB once a plugin is loaded; the resident process never imports it. One
JSON object per line on stdin (``id``, ``title``, ``body``, ``kind``, ``urls``, ``mode``),
one per line on stdout (``id``, ``ok``, ``results``). URLs are secrets: they come through
stdin, never through arguments or the environment, and answers have only their number and scheme.
"""

from __future__ import annotations

import json
import logging
import os
import select
import signal
import sys
import time
from typing import Any

from ..config.secrets import mask_urls
from ..system.worker_main import die_with_parent

IDLE_S = 20.0
"""Seconds without a message after which it ends; importing Apprise again takes half a second."""


def send(message: dict[str, Any]) -> dict[str, Any]:
    """Push one message. Mode ``ladder`` ends at the first URL that takes it; ``all`` tries each."""
    import apprise

    results = []
    ladder = message.get("mode", "ladder") == "ladder"
    for number, url in enumerate(message["urls"], 1):
        begun = time.monotonic()  # noqa: TID251 - a child process has no clock of the daemon
        result = _send_one(apprise, url, message, number)
        result["seconds"] = round(time.monotonic() - begun, 3)  # noqa: TID251
        results.append(result)
        if result["ok"] and ladder:
            break
    delivered = [r["ok"] for r in results]
    ok = any(delivered) if ladder else bool(delivered) and all(delivered)
    return {"id": message.get("id"), "ok": ok, "results": results}


def _send_one(apprise: Any, url: str, message: dict[str, Any], number: int) -> dict[str, Any]:
    words = _Words()
    log = logging.getLogger("apprise")
    log.addHandler(words)
    # Apprise masks passwords, but not a token in a path or the topic that is all of a URL.
    scheme, there, _ = url.partition("://")
    shown = f"url {number} ({scheme}://)" if there else f"url {number}"
    try:
        target = apprise.Apprise.instantiate(url, suppress_exceptions=True)
        if target is None:
            return {"url": shown, "ok": False, "error": "not an Apprise URL"}
        box = apprise.Apprise()
        box.add(target)
        # As text: a log line must not become HTML in a mail or a mention in a channel.
        ok = bool(
            box.notify(
                title=message["title"],
                body=message["body"],
                notify_type=message["kind"],
                body_format=apprise.NotifyFormat.TEXT,
            )
        )
        return {"url": shown, "ok": ok, "error": "" if ok else words.last(url)}
    except Exception as error:  # noqa: BLE001 - a plugin's bug is a failed delivery
        return {"url": shown, "ok": False, "error": type(error).__name__}
    finally:
        log.removeHandler(words)


class _Words(logging.Handler):
    """Keeps the log messages of Apprise about a failure; the URL in them is masked."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self._said.append(record.getMessage())

    def last(self, url: str) -> str:
        text = self._said[-1] if self._said else "refused or unreachable"
        return mask_urls(text, [url])[:300]


def main() -> int:
    """Serve until stdin closes, or for :data:`IDLE_S` after the last message."""
    die_with_parent(how=signal.SIGTERM)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pending = b""
    while True:
        readable, _, _ = select.select([0], [], [], IDLE_S)
        if not readable:
            return 0
        data = os.read(0, 1 << 16)
        if not data:
            return 0
        pending += data
        *lines, pending = pending.split(b"\n")
        for line in lines:
            answer = send(json.loads(line))
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
