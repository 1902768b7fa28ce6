"""Recognise lines that are program text or settings, and not something that happened.

Logs may contain the source of the training script, its configuration and its command line. These
are full of words such as ``loss``, ``nan`` and ``raise RuntimeError``.
"""

from __future__ import annotations

import re

from . import settings

_CODE = re.compile(
    r"^\s*(?:import \w|from [\w.]+ import |def \w+\(|class \w+[:(]|@\w|return\b|raise\b|yield\b|assert "
    r"|(?:el)?if .{1,200}:\s*(?:#.*)?$|else:|try:|except\b.{0,80}:|finally:|with .{1,200}:\s*$|for \w.{0,100} in .{1,200}:\s*$"
    r"|while .{1,100}:\s*$|async def|lambda\b|global \w|nonlocal \w|self\.\w+|print\(|logg(?:er|ing)\.\w+\(|print0\("
    r"|#include|#define|#pragma|(?:static |inline |const )*(?:void|int|float|bool) \w+\(|//|/\*|\"\"\"|'''|#(?!#)(?!\s?(?:step|epoch|iter\w*)\b[\s,|;]+\w)\s*[A-Za-z])"
    r"|\bf[\"'][^\"']*\{|\bprint\(|(?<!\$)\{[A-Za-z_][\w.()\[\]]*(?::[\w.,]*)?\}|^\s*[\w.\[\]][\w.\[\], ]{0,200} = (?!tensor)[\w.]+\(.*\)?\s*(?:#.*)?$"
    r"|^\s*\)[)\]}]*[,;:]?\s*$|^\s+[\w.]+\([^()]*\)\s*(?:#.*)?$|^\s*\w+ \+?= .+#"
)
_SETTINGS = re.compile(
    r"\bNamespace\(|\s--\w[\w-]*[ =]\S|^\s*(?:python3?|torchrun|accelerate|deepspeed|srun|CUDA_VISIBLE_DEVICES=\S*)\s"
)
_ASSIGNMENT = re.compile(r"^\s*[\w.]+ = [-+]?[\w.\"'\[\](), ]+\s*(?:#.*)?$")
_PLAIN_ASSIGNMENT = re.compile(r"^\s*[\w.]+ = \S")

WINDOW = 8
"""Lines. Two lines of code within so many make a listing. Lines up to so many after it that may be
code belong to it."""


def is_code(text: str) -> bool:
    """Whether this line is certainly program text."""
    return bool(_CODE.search(text))


def is_settings(text: str) -> bool:
    """Whether this line repeats a command line or settings, without the length of the run."""
    return echoes(text) and not settings.planned(text)


def echoes(text: str) -> bool:
    """Whether this line repeats a command line or a settings object."""
    return bool(_SETTINGS.search(text))


def may_be_code(text: str) -> bool:
    """Whether this line belongs to a listing around it: indented, or an assignment."""
    return (
        text[:1].isspace() or bool(_ASSIGNMENT.match(text)) or bool(_PLAIN_ASSIGNMENT.match(text))
    )
