"""A document of headings, tables and texts, as one HTML page or as Markdown.

The page asks for nothing: no script, no font, no picture from elsewhere, and its policy forbids it. All text
is taken as text of others: cleaned, masked and escaped.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..config.secrets import mask
from ..text import markdown
from ..text.terminal import one_line

_STYLE = """
:root { color-scheme: light dark; --ink: #1c1c1c; --paper: #fff; --dim: #666; --line: #ddd; --curve: #195fbe;
 --good: #006b2d; --warn: #875f00; --bad: #b00020 }
@media (prefers-color-scheme: dark) { :root { --ink: #dedede; --paper: #161616; --dim: #9a9a9a; --line: #3a3a3a;
 --curve: #6ab0ff; --good: #5fd787; --warn: #ffd75f; --bad: #ff6b6b } }
@media print { :root { --ink: #000; --paper: #fff } tr, svg, pre { break-inside: avoid } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2em auto;
 max-width: 62em; padding: 0 1em }
h1 { font-size: 1.6em; margin-bottom: 0 } h2 { font-size: 1.15em; margin-top: 1.8em; border-bottom: 1px solid var(--line) }
p.lead { font-size: 1.1em } .dim { color: var(--dim) } .good { color: var(--good) } .warn { color: var(--warn) }
.bad { color: var(--bad); font-weight: 600 }
div.wide { overflow-x: auto } table { border-collapse: collapse } th, td { text-align: left; padding: .2em 1em .2em 0;
 vertical-align: top; border-bottom: 1px solid var(--line); overflow-wrap: anywhere } th { color: var(--dim); font-weight: 500 }
pre { overflow-x: auto; font-size: 12.5px; white-space: pre-wrap; overflow-wrap: anywhere }
svg { width: 100%; height: auto } svg text { font-size: 12px; fill: var(--dim) } svg .end { text-anchor: end }
svg .grid { stroke: var(--line) } svg .curve { fill: none; stroke: var(--curve); stroke-width: 2; stroke-linejoin: round }
svg .mark { stroke: var(--warn); stroke-width: 2; stroke-dasharray: 6 5 } svg .critical { stroke: var(--bad) }
svg .broken { fill: var(--bad) }
"""
TONES = {
    **dict.fromkeys(("running", "finished", "ok"), "good"),
    **dict.fromkeys(("stalled", "warning", "incomplete"), "warn"),
    **dict.fromkeys(("failing", "failed", "critical", "corrupt"), "bad"),
}
"""Words that are coloured where they stand alone in a cell."""


@dataclass
class Table:
    """Rows of cells under their titles."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass
class Lines:
    """Lines as they are, of a log or a command."""

    lines: Sequence[str]


@dataclass
class Drawing:
    """SVG of ours, and the words that stand for it where nothing can be drawn."""

    svg: str
    words: str


@dataclass
class Section:
    """What stands under a heading."""

    title: str
    parts: Sequence[Table | Lines | Drawing | str] = field(default_factory=tuple)


@dataclass
class Document:
    """All of it."""

    title: str
    lead: str
    """The first sentence."""
    sections: list[Section]
    made: str
    """When and by what it was made."""


def plain(text: object) -> str:
    """One line of text of others: cleaned, secrets masked."""
    return mask(one_line(text))


def as_html(document: Document) -> str:
    """One page that needs nothing else."""
    parts = [
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{_safe(document.title)}</title><style>{_STYLE}</style></head><body>",
        f'<h1>{_safe(document.title)}</h1><p class="lead">{_safe(document.lead)}</p>',
    ]
    for section in document.sections:
        parts.append(f"<h2>{_safe(section.title)}</h2>")
        parts += map(_html_part, section.parts)
    parts.append(f'<p class="dim">{_safe(document.made)}</p></body></html>\n')
    return "\n".join(parts)


def _html_part(part: Table | Lines | Drawing | str) -> str:
    if isinstance(part, str):
        return f"<p>{_safe(part)}</p>"
    if isinstance(part, Drawing):
        return part.svg or f"<p>{_safe(part.words)}</p>"
    if isinstance(part, Lines):
        return f"<pre>{html.escape(chr(10).join(map(plain, part.lines)))}</pre>"
    head = "".join(f"<th>{_safe(cell)}</th>" for cell in part.head)
    rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in part.rows)
    top = f"<thead><tr>{head}</tr></thead>" if part.head else ""
    return f'<div class="wide"><table>{top}<tbody>{rows}</tbody></table></div>'


def _cell(text: str) -> str:
    tone = TONES.get(text)
    return f"<td{f' class={tone}' if tone else ''}>{_safe(text)}</td>"


def _safe(text: object) -> str:
    return html.escape(plain(text))


def as_markdown(document: Document) -> str:
    """The same for a wiki or an issue."""
    parts = [f"# {_marked(document.title)}", "", _marked(document.lead, starts=True), ""]
    for section in document.sections:
        parts += [f"## {_marked(section.title)}", ""]
        for part in section.parts:
            parts += [*_markdown_part(part), ""]
    return "\n".join([*parts, _marked(document.made, starts=True)]) + "\n"


def _markdown_part(part: Table | Lines | Drawing | str) -> Iterable[str]:
    if isinstance(part, str):
        return [_marked(part, starts=True)]
    if isinstance(part, Drawing):
        return [_marked(part.words, starts=True)]
    if isinstance(part, Lines):
        return [f"    {plain(line)}" for line in part.lines]
    head = part.head or ["", *[""] * (len(part.rows[0]) - 1 if part.rows else 0)]
    rows = [head, ["---"] * len(head)]
    told = [[_in_table(cell) for cell in row] for row in part.rows]
    return [f"| {' | '.join(row)} |" for row in (*rows, *told)]


def _marked(text: object, *, starts: bool = False) -> str:
    return markdown.escaped(plain(text), starts=starts)


def _in_table(text: object) -> str:
    return _marked(text).replace("|", "\\|")
