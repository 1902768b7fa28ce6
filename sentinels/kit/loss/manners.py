"""The kind of training that a loss is of, by the names in its reports."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

Manner = Literal["", "adversary", "learner"]


def manner(values: Mapping[str, float]) -> Manner:
    """The kind of training, by the metric names of a report: ``adversary`` (adversarial),
    ``learner`` (reinforcement learning) or empty (any other)."""
    found: Manner = ""
    for name in values:
        words = set(_WORDS.findall(name.lower()))
        if words & _LEARNERS or ("loss" in words and words & _ACTORS):
            return "learner"
        if words & _ADVERSARIES or ("loss" in words and words & _SIDES):
            found = "adversary"
    return found


_WORDS = re.compile(r"[a-z]+")
_LEARNERS = frozenset({"reward", "rewards"})
_ACTORS = frozenset({"policy", "value", "actor", "vf"})
_ADVERSARIES = frozenset({"discriminator", "generator", "adversarial", "critic"})
_SIDES = frozenset({"g", "d", "gen", "disc", "dis", "adv", "gan"})
