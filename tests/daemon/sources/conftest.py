"""Descriptors as on most boxes, and nearly used up."""

from __future__ import annotations

import pytest

from middlewatch.daemon.system import descriptors


@pytest.fixture(params=["kept", "scarce"])
def with_and_without_descriptors(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every test twice: while there are enough, and while none may be kept (some are free)."""
    if request.param == "scarce":
        few = descriptors.LEAST_RESERVE - 4
        used = descriptors._open_now
        monkeypatch.setattr(descriptors.own, "_limit", lambda: (used() or 0) + few)
