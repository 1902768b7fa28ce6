"""What a service answered over HTTP, for the notifier: Apprise says only whether it worked.

Every request of a push gets the header ``Idempotency-Key``, the same for each try of one message, so that a
receiver of your own can leave out what it has already. Where one message takes several requests (a URL
with two chats), those after the first have their number behind it: they are no copies.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any

REFUSED = frozenset((401, 403, 404, 410))
"""Statuses of a token or an address that is not known there: no new try will help (RFC 9110)."""
LONGEST_S = 3600.0
"""Seconds that a service may ask to be left alone; a longer wait is cut to this. Our choice."""


@dataclass
class Trace:
    """One job: what its requests carry, and what was answered last."""

    key: str = ""
    proxy: str = ""
    requests: int = 0
    status: int | None = None
    said: str = ""
    """Why it did not work, where we know it better than Apprise."""
    retry_after: str | None = None


_of_job: ContextVar[Trace] = ContextVar("trace")
"""The job that this thread works for. Newer releases of Apprise send from a thread of their own, to
which they hand on the context."""


def begin(key: str, proxy: str = "") -> None:
    """A new job of this thread; its requests go through ``proxy``, if there is one."""
    _of_job.set(Trace(key, proxy))


def current() -> Trace:
    """That of the job which is being done."""
    return _of_job.get(Trace())


def told() -> dict[str, Any]:
    """What follows from the newest answer of a service to this job."""
    trace = current()
    return {"refused": trace.status in REFUSED, "retry_after_s": seconds(trace.retry_after)}


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
        # A child process has no clock of the daemon.
        wait_s = (at - datetime.now(timezone.utc)).total_seconds()  # noqa: TID251
    return min(max(wait_s, 0.0), LONGEST_S) if wait_s == wait_s else None


def install() -> None:
    """Have every request of this process noted. Every service of Apprise that speaks HTTP, and our
    pings, send through this one method of requests."""
    from requests.adapters import HTTPAdapter
    from requests.utils import should_bypass_proxies

    plain = HTTPAdapter.send

    def noted(self: HTTPAdapter, request: Any, *args: Any, **more: Any) -> Any:
        trace = current()
        if trace.key:
            trace.requests += 1
            number = f"-{trace.requests}" if trace.requests > 1 else ""
            request.headers.setdefault("Idempotency-Key", trace.key + number)
        if trace.proxy and not should_bypass_proxies(request.url, no_proxy=None):  # $NO_PROXY
            more["proxies"] = {"http": trace.proxy, "https": trace.proxy}
        trace.status = trace.retry_after = None
        response = plain(self, request, *args, **more)
        trace.status = response.status_code
        trace.retry_after = response.headers.get("Retry-After")
        return response

    HTTPAdapter.send = noted  # type: ignore[method-assign]
