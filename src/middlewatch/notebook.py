"""Start a training from a cell of a notebook, and see how it does: ``middlewatch.notebook``."""

from __future__ import annotations

from .daemon.notebook import Run, find, launch

__all__ = ["Run", "find", "launch"]
