"""Text of others in a push: chat services obey some of it, whatever format the push declares.

Apprise is told that title and body are plain text, and escapes them for services that show HTML. Discord,
Mattermost and others read mentions and Markdown in plain text as well, so these are broken here, by a
space, and stay readable.
"""

from __future__ import annotations

import re

_MENTION = re.compile(r"(?<![^\W_])@(?=\w)")
"""``@everyone``, ``@here``, ``@somebody``; not ``user@host``."""
_REFERENCE = re.compile(r"<(?=[@#!:]|/[^<>]{1,60}:\d|[A-Za-z][A-Za-z0-9+.-]{0,30}:)")
"""``<!channel>``, ``<@U02>``, ``<#C02>``, ``<t:17:R>``, ``<https://a|b>`` of Slack and Discord; not
``<module>``."""
_LINK = re.compile(r"\](?=\()")
"""A Markdown link or image: it shows other words than where it leads."""
_HIDDEN = re.compile(r"(?<=\|)(?=\|)|(?<=``)(?=`)|(?<=~)(?=~)")
"""Inside ``||`` (Discord hides what is between two of them), a fence, which swallows the lines that
follow, and a strike-through."""


def defused(text: str) -> str:
    """``text`` without mentions, links that hide where they lead, and marks that hide words."""
    text = _MENTION.sub("@ ", text)
    text = _REFERENCE.sub("< ", text)
    return _HIDDEN.sub(" ", _LINK.sub("] ", text))
