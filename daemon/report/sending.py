"""One push to one URL through Apprise, or one ping; in the notifier child, and in commands of a person."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from typing import Any

from ..config.secrets import mask_urls
from . import attachments, channels, http_trace, mqtt_trace, phrasing, pings, polls

_DONE = {"ping": pings.ping, "poll": polls.poll}
"""Jobs that are no pushes, by the key that only they have."""
_LOADING = threading.Lock()
"""Apprise 1.7 knows no service in a thread while another one loads its plugins."""


def send(job: dict[str, Any]) -> dict[str, Any]:
    """Do one job; the answer says ``ok``, the ``error``, whether the service ``refused`` us for good, and
    how many seconds it wants to be left alone (``retry_after_s``)."""
    begun = time.monotonic()  # noqa: TID251 - a child process has no clock of the daemon
    proxy = str(job.get("proxy") or "")
    http_trace.begin(str(job.get("key") or ""), proxy)
    answer = _DONE.get(next((key for key in _DONE if job.get(key)), ""), _push)(job)
    answer["error"] = mask_urls(answer["error"], [proxy]) if proxy else answer["error"]
    answer |= http_trace.told() if not answer["ok"] else {"refused": False, "retry_after_s": None}
    seconds = round(time.monotonic() - begun, 3)  # noqa: TID251
    return {"id": job["id"], "url": job["label"], **answer, "seconds": seconds}


def _push(job: dict[str, Any]) -> dict[str, Any]:
    import apprise

    words = _Said()
    log = logging.getLogger("apprise")
    log.addHandler(words)
    try:
        # One after the other: there is only one, and a pool for it would outlive a service that hangs.
        asset = apprise.AppriseAsset(async_mode=False)
        # An older Apprise does not know every priority (Bark's highest): then the one below, or none.
        graded = [channels.graded(job["url"], kind) for kind in (job["kind"], "warning")]
        graded = [channels.with_buttons(url, job.get("buttons") or []) for url in graded]
        with _LOADING:
            made = (
                apprise.Apprise.instantiate(url, asset=asset, suppress_exceptions=True)
                for url in (*graded, job["url"])
            )
            target = next((one for one in made if one is not None), None)
        if target is None:
            wanted = channels.lacking(job["url"])
            error = f"it wants {wanted}, which is not installed" if wanted else "not an Apprise URL"
            return {"ok": False, "error": error}
        mqtt_trace.note(target)
        box = apprise.Apprise(asset=asset)
        box.add(target)
        title, body = _words(job, target)

        def told(files: Sequence[str]) -> bool:
            # As text: a log line must not become HTML in a mail or a mention in a channel.
            more: dict[str, Any] = {"attach": list(files)} if files else {}
            text = apprise.NotifyFormat.TEXT
            return bool(
                box.notify(
                    title=title, body=body, notify_type=job["kind"], body_format=text, **more
                )
            )

        ok = attachments.told_with(job, target, title + body, told)
        return {"ok": ok, "error": "" if ok else words.last(job["url"])}
    except Exception as error:  # noqa: BLE001 - a plugin's bug is a failed delivery
        return {"ok": False, "error": type(error).__name__}
    finally:
        log.removeHandler(words)


def _words(job: dict[str, Any], target: Any) -> tuple[str, str]:
    """(title, body) for this service; as they are, if our own work on them fails."""
    title, body = job["title"], job["body"]
    try:
        named = {name: job.get(name, "") for name in ("trouble", "run", "incident")}
        title, body = phrasing.phrased(
            title,
            body,
            **named,
            language=job.get("language", "en"),
            templates=tuple(job.get("templates") or ("", "")),
        )
        most, most_title = int(target.body_maxlen), int(target.title_maxlen)
        return channels.fitted(channels.service_of(job["url"]), title, body, most, most_title)
    except Exception:  # noqa: BLE001 - a push must go out in any case
        return title, body


class _Said(logging.Handler):
    """Keeps the log messages of Apprise about a failure of this job; the URL in them is masked."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._job = http_trace.current()
        self._said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if http_trace.current() is self._job:
            self._said.append(record.getMessage())

    def last(self, url: str) -> str:
        text = self._job.said or (self._said[-1] if self._said else "refused or unreachable")
        return mask_urls(text, [url])[:300]
