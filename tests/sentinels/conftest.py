"""Stories to show to rules."""

from __future__ import annotations

import pytest

from .story import BOXES, Story


@pytest.fixture(params=list(BOXES))
def story(request: pytest.FixtureRequest) -> Story:
    """A run that begins now, told in tuples and (as the daemon does) in deques."""
    return Story(BOXES[request.param])
