"""Losses as healthy training prints them: a descent, its noise, and what disturbs it for a while."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass


@dataclass
class Descent:
    """``floor + (start - floor) * (1 + step / scale) ** -power``, times log-normal noise.

    The noise of neighbouring reports hangs together (``memory``), and every now and then a
    batch is ``rare`` times as hard as usual, for one report: mixed-up images and bad shards.
    """

    rng: random.Random
    start: float = 10.8
    floor: float = 2.6
    scale: float = 400.0
    power: float = 0.6
    noise: float = 0.015
    memory: float = 0.5
    rare: float = 0.0
    """Share of reports that are out of the ordinary."""
    _last: float = 0.0

    def at(self, step: float, lift: float = 0.0) -> float:
        """Loss at a step; ``lift`` is the part of the progress that is undone right now."""
        done = math.pow(1 + step / self.scale, -self.power)
        level = self.floor + (self.start - self.floor) * done
        level += lift * (self.start - level)
        fresh = self.rng.gauss(0.0, self.noise) * math.sqrt(1 - self.memory**2)
        self._last = self.memory * self._last + fresh
        value = level * math.exp(self._last)
        if self.rare and self.rng.random() < self.rare:
            value *= 1 + 4 * self.noise * self.rng.random()
        return value


def after_restart(step: float, period: float, height: float = 0.12) -> float:
    """Part of the progress that a warm restart of the rate undoes (Loshchilov and Hutter)."""
    return height * math.exp(-3 * (step % period) / period) if step >= period else 0.0
