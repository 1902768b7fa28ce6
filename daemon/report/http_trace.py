"""What a service answered over HTTP, for the notifier: Apprise says only whether it worked.

Every request gets the header ``Idempotency-Key``, the same for each try of one message, so that a
receiver of your own can leave out what it has already.
"""

from __future__ import annotations

import threading
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any

REFUSED = frozenset((401, 403, 404, 410))
"""Statuses of a token or an address that is not known there: no new try will help (RFC 9110)."""
LONGEST_S = 3600.0
"""Seconds that a service may ask to be left alone; a longer wait is cut to this. Our choice."""

_seen = threading.local()


def begin(key: str, proxy: str = "") -> None:
    """A new job of this thread; its requests go through ``proxy``, if there is one."""
    _seen.key, _seen.status, _seen.retry_after = key, None, None
    _seen.proxies = {"http": proxy, "https": proxy} if proxy else None


def told() -> dict[str, Any]:
    """What follows from the newest answer of a service in this thread."""
    return {
        "refused": getattr(_seen, "status", None) in REFUSED,
        "retry_after_s": seconds(getattr(_seen, "retry_after", None)),
    }


def seconds(header: str | None) -> float | None:
    """Seconds of a Retry-After header (a number, or a date); ``None`` without a usable one."""
    if not header:
        return None
    try:
        wait_s = float(header)
    except ValueError:
        try:
            at = parsedate_to_datetime(header)
        except (TypeError, ValueError):
            return None
        at = at if at.tzinfo else at.replace(tzinfo=timezone.utc)
        wait_s = (at - datetime.now(timezone.utc)).total_seconds()
    return min(max(wait_s, 0.0), LONGEST_S) if wait_s == wait_s else None


def install() -> None:
    """Have every request of this process noted. Every service of Apprise that speaks HTTP, and our
    pings, send through this one method of requests."""
    from requests.adapters import HTTPAdapter
    from requests.utils import should_bypass_proxies

    plain = HTTPAdapter.send

    def noted(self: HTTPAdapter, request: Any, *args: Any, **more: Any) -> Any:
        request.headers.setdefault("Idempotency-Key", getattr(_seen, "key", ""))
        proxies = getattr(_seen, "proxies", None)
        if proxies and not should_bypass_proxies(request.url, no_proxy=None):  # $NO_PROXY
            more["proxies"] = proxies
        response = plain(self, request, *args, **more)
        _seen.status = response.status_code
        _seen.retry_after = response.headers.get("Retry-After")
        return response

    HTTPAdapter.send = noted  # type: ignore[method-assign]
