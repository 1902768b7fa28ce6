"""All healthy runs: known programs, the habits of those who train, odd boxes, odd words."""

from __future__ import annotations

from .boxes import BOXES
from .habits import HABITS
from .healthy import HealthyRun
from .programs import PROGRAMS
from .words import WORDS

RUNS: tuple[HealthyRun, ...] = (*PROGRAMS, *HABITS, *BOXES, *WORDS)
