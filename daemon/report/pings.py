"""Pings of a dead man's switch, as the services want them; runs in the notifier only.

- *healthchecks* (healthchecks.io, and the same software on a server of your own): POST to the URL for
  success, to ``URL/start``, ``URL/fail`` and ``URL/log`` for the others; the text is the body.
- *Uptime Kuma*, push monitor: GET with ``status=up`` or ``down`` and ``msg``.
- *Cronitor*: GET with ``state=run``, ``complete`` or ``fail`` and ``message``.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from ..config.secrets import mask_urls

BODY = 2000
"""Characters of a body: self-hosted services keep 10 kB, a message in a URL has to be shorter."""
WORDS = 250
"""Characters of a message in a URL (Uptime Kuma keeps 250)."""
TIMEOUT_S = (5.0, 10.0)
"""Seconds to connect, and for the answer: healthchecks.io advises ten."""
_KUMA = {"success": "up", "fail": "down"}
"""It has no start, and ``up`` would be a success that nobody has seen."""
_CRONITOR = {"success": "complete", "fail": "fail", "start": "run"}


def kind_of(url: str, kind: str) -> str:
    """The kind of service, by its URL if ``kind`` is ``auto``."""
    if kind != "auto":
        return kind
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    if host in ("cronitor.link", "cronitor.io") or host.endswith(
        (".cronitor.link", ".cronitor.io")
    ):
        return "cronitor"
    return "uptime_kuma" if "/api/push/" in parts.path else "healthchecks"


def request_of(url: str, kind: str, signal: str, text: str) -> tuple[str, str, str] | None:
    """(method, URL, body) of a ping; ``None`` where the service has no such signal.

    ``signal``: ``success``, ``start``, ``fail`` or ``log``.
    """
    parts = urlsplit(url)
    if kind == "healthchecks":
        path = parts.path.rstrip("/") + ("" if signal == "success" else f"/{signal}")
        return "POST", urlunsplit(parts._replace(path=path)), text[:BODY]
    word, name = ("status", "msg") if kind == "uptime_kuma" else ("state", "message")
    states = _KUMA if kind == "uptime_kuma" else _CRONITOR
    if signal not in states:
        return None
    # The URL that Uptime Kuma shows has these already, as examples.
    kept = [(k, v) for k, v in parse_qsl(parts.query) if k not in (word, name, "ping")]
    words = " ".join(text.split())[:WORDS]
    query = urlencode([*kept, (word, states[signal]), (name, words)])
    return "GET", urlunsplit(parts._replace(query=query)), ""


def ping(job: dict[str, Any]) -> dict[str, Any]:
    """Send one ping: ``url``, ``service`` (its kind), ``ping`` (the signal) and ``body``. The answer has
    ``sent`` False where the service has no such signal."""
    import requests

    kind = kind_of(job["url"], job["service"])
    asked = request_of(job["url"], kind, job["ping"], job["body"])
    if asked is None:
        return {"ok": True, "error": "", "sent": False}
    method, url, body = asked
    try:
        response = requests.request(
            method, url, data=body.encode(), timeout=TIMEOUT_S, allow_redirects=False
        )
    except requests.RequestException as error:
        return {"ok": False, "error": mask_urls(_words(error), [job["url"]])[:200]}
    # Older Healthchecks answer "OK (not found)" and "OK (rate limited)", with 200.
    said = response.text[:200].strip()
    bare = said.replace(" ", "").lower()
    lost = any(words in bare for words in ("notfound", "ratelimited", '"ok":false'))
    # 201 is a success as well: with ``?create=1`` in its URL the first ping makes the check.
    answered = response.status_code in (requests.codes.ok, requests.codes.created)
    ok = answered and not lost
    told = said if answered else response.reason
    return {"ok": ok, "error": "" if ok else f"HTTP {response.status_code}: {told[:100]}"}


def _words(error: Exception) -> str:
    name = type(error).__name__
    inner = error.args[0] if error.args else ""
    reason = getattr(inner, "reason", None) or inner
    return f"{name}: {str(reason).rpartition('>: ')[2] or name}"
