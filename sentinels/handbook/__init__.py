"""The handbook: one page per class of trouble, `CLASS.txt` beside this file.

A page says what a person needs at three in the morning: symptom, how to confirm it with
commands that only look, cause, remedy from the safe to the costly, what to leave alone, and
whether trying again is allowed. How a rule decides, and its limits, is in the docstring of
its sentinel.
"""

from __future__ import annotations

import pkgutil
import re
from functools import lru_cache

from ..kit.classes import row
from ..kit.handbook import CLASS_LABELS, HandbookPage, parse

TOPICS = (
    "loss and numbers",
    "progress and speed",
    "memory",
    "how a run ends",
    "ranks and network",
    "GPU",
    "disks and files",
    "checkpoints",
    "the box",
    "the watch",
)
"""In the order of the index."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


@lru_cache(maxsize=32)
def page(trouble: str) -> HandbookPage | None:
    """The page of a class; None where there is none, whatever ``trouble`` holds.

    Read when it is asked for: the daemon keeps the few it tells of, not the whole book.
    """
    if not _NAME.fullmatch(trouble):
        return None
    try:
        text = pkgutil.get_data(__name__, f"{trouble}.txt")
    except OSError:
        return None
    return None if text is None else parse(trouble, text.decode("utf-8"), CLASS_LABELS)


def pages() -> dict[str, HandbookPage]:
    """The whole book by class, topic after topic. For commands and tests: it reads every file.

    Raises UnknownClass for the page of a class that has no row.
    """
    from importlib import resources  # heavy, and the daemon never comes here

    names = sorted(f.name for f in resources.files(__name__).iterdir() if f.name.endswith(".txt"))
    found = [entry for name in names if (entry := page(name.removesuffix(".txt")))]
    for entry in found:
        row(entry.name, f"sentinels/handbook/{entry.name}.txt")
    rank = {topic: number for number, topic in enumerate(TOPICS)}
    found.sort(key=lambda e: rank.get(e.sections.get("Topic", ""), len(rank)))
    return {entry.name: entry for entry in found}
