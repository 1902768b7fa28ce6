"""Texts that try to be more than text (``tests/data/injections.toml``), and what counts as harmless."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from functools import lru_cache
from html.parser import HTMLParser
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE = Path(__file__).parents[1] / "data" / "injections.toml"


@dataclass(frozen=True)
class Injection:
    """One text. ``text`` is as Python hands over bytes that are not UTF-8: with surrogates."""

    name: str
    tries: str
    data: bytes

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "surrogateescape")

    @property
    def line(self) -> bytes:
        """As a line of a log: without what would end it."""
        return self.data.replace(b"\n", b"\\n")

    @property
    def file_name(self) -> bytes:
        """As the name of a file: without what no name may hold, and not longer than one may be."""
        return self.data.replace(b"/", b"_").replace(b"\0", b"")[:180] or b"_"

    @property
    def argument(self) -> bytes:
        """As a word of a command line."""
        return self.data.replace(b"\0", b"")[:4000]


@lru_cache
def injections() -> tuple[Injection, ...]:
    found = tomllib.loads(FILE.read_text(encoding="utf-8"))["injection"]
    return tuple(
        Injection(
            one["name"],
            one["tries"],
            (bytes.fromhex(one["bytes"]) if "bytes" in one else one["text"].encode())
            * one.get("times", 1),
        )
        for one in found
    )


# ------------------------------------------------------------------------ the terminal

OWN_COLOURS = re.compile(r"\x1b\[(?:0|1|2|7|32|33|31;1)m")
"""What our commands paint with (``daemon/cli/console.py``). No injection uses one of these."""
OWN_PROGRESS = re.compile(r"\r[^\r\n]*\x1b\[K")


def obeyed(shown: str) -> list[str]:
    """The characters in what a terminal was sent that it would obey, or that have no glyph."""
    plain = OWN_COLOURS.sub("", OWN_PROGRESS.sub("", shown.replace("\r\n", "\n")))
    return sorted({c for c in plain if c != "\n" and not c.isprintable()})


# ------------------------------------------------------------------------ Markdown

_RENDERERS = (
    MarkdownIt("commonmark"),
    MarkdownIt("commonmark").enable(["table", "strikethrough"]),
)
_ALLOWED = {
    *("heading_open", "heading_close", "paragraph_open", "paragraph_close", "inline"),
    *("bullet_list_open", "bullet_list_close", "list_item_open", "list_item_close"),
    *("text", "softbreak", "code_inline", "strong_open", "strong_close"),
}


def parsed(markdown: str) -> list[list[Token]]:
    """The tokens of a page, inline ones as well, as several readers see them."""
    return [
        [each for token in one.parse(markdown) for each in (token, *(token.children or ()))]
        for one in _RENDERERS
    ]


def markup(markdown: str) -> list[str]:
    """What readers make of a page of ours that is neither text nor structure of ours."""
    found = []
    for tokens in parsed(markdown):
        found += [t.type for t in tokens if t.type not in _ALLOWED]
        strong = [tokens[n + 1].content for n, t in enumerate(tokens) if t.type == "strong_open"]
        found += [
            f"strong: {words}" for words in strong if words not in ("critical", "warning", "info")
        ]
    return found


def read_out(markdown: str) -> list[str]:
    """The text of a page as each reader shows it."""
    return [
        "".join(t.content for t in tokens if t.type in ("text", "code_inline"))
        for tokens in parsed(markdown)
    ]


# ------------------------------------------------------------------------ HTML


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(" ".join([tag, *(name for name, _ in attrs)]))

    def handle_comment(self, data: str) -> None:
        self.tags.append("comment")

    def handle_decl(self, decl: str) -> None:
        self.tags.append("declaration")

    def handle_pi(self, data: str) -> None:
        self.tags.append("instruction")


def tags(html: str) -> set[str]:
    """Elements, with the names of their attributes, that a browser would see."""
    reader = _Tags()
    reader.feed(html)
    reader.close()
    return set(reader.tags)


# ------------------------------------------------------------------------ chat services

CALLS = re.compile(
    r"(?<!\w)@(?:everyone|here|all|channel|room|admin|SUM)\b|<[@#!:]|<a?:\w+:|<t:\d|</\w+:\d|<https?:"
)
"""Mentions and references as Discord, Slack, Mattermost and Telegram define them."""
HIDES = re.compile(r"\]\(|```|\|\||~~")
"""A link under other words, a fence, a spoiler, a strike-through."""


def called(push: str) -> list[str]:
    """What a chat service would obey in a push."""
    return [found[0] for rule in (CALLS, HIDES) for found in rule.finditer(push)]
