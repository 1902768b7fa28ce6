"""What is sent with a push: the evidence as a text, and the loss as a picture; in the notifier child only.

They are drawn when the push is sent, from the facts that the daemon has put into a file, and only for a
service that takes files. A push goes out in any case: without them if they cannot be drawn, or if the
service does not take them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..config.paths import MEMORY
from ..config.secrets import mask_values
from . import channels, evidence, http_trace, picture

PICTURES = frozenset(("pover", "psafer", "whatsapp"))
"""Services that take pictures only; Apprise sends a message of its own for every other file."""
ONE = frozenset(("ntfy", "pover", "psafer"))
"""Services to which every further file is one more push."""
IN_URL = frozenset(("ntfy",))
"""Services to which Apprise sends the words in the URL when there is a file."""
LONGEST_URL = 6000
"""Bytes of these words at most: nginx, which stands before many servers, takes 8 KiB with the rest."""
_NOT_THE_FILES = frozenset((401, 403, 404, 410, 429))
"""Answers that have nothing to do with what was sent: it is not sent again at once."""


def told_with(
    job: dict[str, Any], target: Any, words: str, told: Callable[[Sequence[str]], bool]
) -> bool:
    """Send a push by ``told``, with its files if the service takes some; whether it was taken. ``words``:
    title and body."""
    takes = getattr(target, "attachment_support", False)
    long = channels.service_of(job["url"]) in IN_URL and len(quote(words)) > LONGEST_URL
    if not job.get("facts") or not takes or long:
        return told(())
    room = _room(job["facts"])
    if room is None:
        return told(())
    with room as folder:
        files = _drawn(job, Path(folder))
        if told(files):
            return True
    status = http_trace.current().status
    if not files or status in _NOT_THE_FILES or (status or 0) >= 500:
        return False
    return told(())


def _room(facts: str) -> tempfile.TemporaryDirectory[str] | None:
    """A folder for the files; ``None`` where there is none. Under the unit of systemd ``/tmp`` is read-only,
    and the disk of the state may be full: memory comes first."""
    for place in (MEMORY, None, str(Path(facts).parent)):
        try:
            return tempfile.TemporaryDirectory(
                prefix="middlewatch-", dir=place, ignore_cleanup_errors=True
            )
        except OSError:
            continue
    return None


def _drawn(job: dict[str, Any], folder: Path) -> list[str]:
    """The files for this service."""
    service = channels.service_of(job["url"])
    try:
        facts = evidence.read(job["facts"])
        made = [] if facts is None else write(mask_values(facts), folder)
    except Exception:  # noqa: BLE001 - a mistake of ours holds up no push
        return []
    if service in PICTURES:
        made = [path for path in made if path.suffix == ".png"]
    return [str(path) for path in made[: 1 if service in ONE else len(made)]]


def write(facts: dict[str, Any], folder: Path) -> list[Path]:
    """Draw the picture, if there is a loss, and write the text; their paths, in this order."""
    made, name = [], f"middlewatch-{facts['incident']['id']}"
    drawn = picture.of_facts(facts)
    if drawn is not None:
        made.append(folder / f"{name}-loss.png")
        made[-1].write_bytes(drawn)
    made.append(folder / f"{name}.txt")
    # With a mark at its beginning: phones and mail programs that are not told guess a wrong encoding.
    made[-1].write_text(evidence.text(facts), encoding="utf-8-sig")
    return made
