"""Secrets in log lines never leave the box: they are masked in evidence and messages."""

from __future__ import annotations

import re

_SECRETS = re.compile(
    r"""
      (?P<keyed>\b(?:api[_-]?key|access[_-]?key|secret|token|passw(?:or)?d|authorization|bearer)
        \b["']?\s*[:=]\s*(?:bearer\s+)?["']?)(?P<value>[^\s"',;&]{6,})
    | (?P<url>\b[a-z][a-z0-9+.\-]*://[^\s/:@]*:)[^\s/@]+(?=@)
    | \b(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_\-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}
         |github_pat_\w{20,}|AKIA[A-Z0-9]{12,}|xox[baprs]-[A-Za-z0-9\-]{10,}|AIza[\w\-]{30,}
         |eyJ[\w\-]{10,}\.[\w\-]{10,}\.[\w\-]{5,})
    | (?<![0-9a-fA-F])[0-9a-f]{40}(?![0-9a-fA-F])
    """,
    re.VERBOSE | re.IGNORECASE,
)


def mask(text: str) -> str:
    """``text`` with everything that looks like a credential replaced by ``***``.

    A bare 40-digit hexadecimal word counts (tracker keys look like that); commit hashes are
    lost with it, which costs less than a key on a phone.
    """
    return _SECRETS.sub(_hide, text)


def _hide(match: re.Match[str]) -> str:
    return f"{match['keyed'] or match['url'] or ''}***"
