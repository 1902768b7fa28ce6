"""The alert URLs that a person gave the daemon itself (``middlewatch alert add``).

They lie in a file of the state directory that nobody else may read. So a daemon that was started before its
owner had a phone, or by systemd without their environment, still learns of it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from ..system.files import write_whole
from .trusted import keep_secret, read_config

TAG = re.compile(r"[A-Za-z0-9_\-]+")
_TAGGED = re.compile(
    rf"\s*({TAG.pattern}(?:\s*,\s*{TAG.pattern})*)\s*=\s*([A-Za-z][\w.+\-]*://.*)", re.DOTALL
)
"""``TAG,TAG=URL``, as Apprise writes tags in its configuration."""
PRINT_CHARACTERS = 12
"""Of a digest, enough to tell whether two programs mean the same URL."""


def own_urls(path: Path) -> tuple[str, ...]:
    """The URLs in the file, oldest first; none without it. Raises ConfigError when others can read it."""
    text = read_config(path, str(path))
    if text is None:
        return ()
    keep_secret(path, str(path))
    return tuple(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))


def all_urls(configured: Iterable[str], path: Path) -> tuple[str, ...]:
    """The URLs that a daemon calls: those of its configuration, and those in the file. Raises ConfigError
    when others can read the file."""
    return tuple(dict.fromkeys((*configured, *own_urls(path))))


def write_urls(path: Path, urls: Iterable[str]) -> None:
    """Replace the file. Raises OSError."""
    write_whole(str(path), "".join(f"{url}\n" for url in urls), private=True)


def tags_of(url: str) -> tuple[tuple[str, ...], str]:
    """The tags of a URL that was written like ``phone,night=ntfy://…``, and the URL alone."""
    match = _TAGGED.fullmatch(url)
    if match is None:
        return (), url
    return tuple(tag.strip() for tag in match[1].split(",")), match[2].strip()


def print_of(url: str) -> str:
    """A fingerprint of a URL, by which two programs compare theirs without showing them."""
    return hashlib.sha256(url.encode()).hexdigest()[:PRINT_CHARACTERS]


def shown(url: str) -> str:
    """What may be shown of a URL: its service, and its fingerprint."""
    return f"{url.partition('://')[0]}:// ({print_of(url)})"
