"""Stories to show to rules."""

from __future__ import annotations

from collections import deque

import pytest

from .story import Story


@pytest.fixture
def story() -> Story:
    """A run that begins now, told in deques as the daemon does: they cannot be sliced."""
    return Story(deque)
