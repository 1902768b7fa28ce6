"""Mask secrets in log lines, so that evidence and messages never carry them off the box."""

from __future__ import annotations

import re
from collections.abc import Iterable

_WORD = r"(?:api[_-]?key|access[_-]?key|private[_-]?key|secret|token|credentials?|authorization)"
_PASSWORD = r"(?:passw(?:or)?d|passphrase|pwd)"
# Numbers after "token" (counters) and special tokens like <pad> or [CLS] are no secrets.
_VALUE = r"(?!(?:bearer|basic|token)\s|[<\[({]|[\d.,eE+\-%/]+(?![^\s\"',;&)\]}]))[^\s\"',;&]{6,}"

_SECRETS = re.compile(
    rf"""
      (?P<keyed>(?:\b|_){_WORD}\b["']?\s*[:=]\s*["']?(?:(?:bearer|basic|token)\s+)?["']?){_VALUE}
    | (?P<worded>(?:\b|_){_PASSWORD}\b["']?\s*[:=]\s*["']?)[^\s"',;&]{{4,}}
    | (?P<option>(?<!\S)--[\w\-]{{0,40}}?(?:{_WORD}|{_PASSWORD})\s+["']?){_VALUE}
    | (?P<bearer>\bbearer\s+)[\w.~+/\-]{{16,}}
    | (?P<url>\b[a-z][a-z0-9+.\-]{{0,30}}://[^\s/:@]*:)[^\s/@]+(?=@)
    | (?P<user>\b[a-z][a-z0-9+.\-]{{0,30}}://)[^\s/:@]{{16,}}(?=@)
    | (?P<hook>\b(?:hooks\.slack\.com/services|discord(?:app)?\.com/api/webhooks
         |api\.telegram\.org)/)[^\s"']+
    | \b(?:hf_[A-Za-z0-9]{{16,}}|sk-[A-Za-z0-9_\-]{{16,}}|gh[pousr]_[A-Za-z0-9]{{20,}}
         |github_pat_\w{{20,}}|glpat-[\w\-]{{16,}}|AKIA[A-Z0-9]{{12,}}|xox[baprs]-[A-Za-z0-9\-]{{10,}}
         |AIza[\w\-]{{30,}}|\d{{8,10}}:[\w\-]{{35}}|eyJ[\w\-]{{10,}}\.[\w\-]{{10,}}\.[\w\-]{{5,}})
    | (?<![0-9a-fA-F])[0-9a-f]{{40}}(?![0-9a-fA-F])
    """,
    re.VERBOSE | re.IGNORECASE,
)
_PIECES = re.compile(r"[/?&=:@#,]+")


def mask(text: str) -> str:
    """``text`` with everything that looks like a credential replaced by ``***``.

    A word of 40 hexadecimal digits is masked, because keys of trackers look like that. Commit
    hashes look the same and are masked too; that does less harm than a key in a push.
    """
    return _SECRETS.sub(_hide, text)


def _hide(match: re.Match[str]) -> str:
    return f"{match[match.lastgroup] if match.lastgroup else ''}***"


def mask_urls(text: str, urls: Iterable[str]) -> str:
    """``text`` with every part of ``urls`` masked: user, password, host, token, topic.

    Services differ in which part is the secret; therefore all of them are masked.
    """
    pieces: set[str] = set()
    for url in urls:
        _, _, rest = url.partition("://")
        pieces.update(p for p in (url, *_PIECES.split(rest)) if len(p) >= 4)
    for piece in sorted(pieces, key=len, reverse=True):
        text = text.replace(piece, "***")
    return mask(text)
