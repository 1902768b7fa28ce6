"""middlewatch: the night watch over GPU training on rented boxes.

The rooms are ``daemon`` (watches, remembers, tells), ``sentinels`` (pure rules) and ``tui`` (shows). Nothing
lives here but :func:`.saving.atomic_save`, for those who write a training loop of their own, and the door to
:mod:`.notebook`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .saving import atomic_save as atomic_save

try:
    # Written by the build, from the tag: importlib.metadata would cost the daemon 4 MB.
    from ._version import __version__  # type: ignore[import-not-found, attr-defined, unused-ignore]
except ImportError:  # a checkout that was never built
    __version__ = "0.1.0"

__all__ = ["__version__", "atomic_save"]


def __getattr__(name: str) -> object:
    """``atomic_save`` when somebody wants it: the daemon does not."""
    if name == "atomic_save":
        from .saving import atomic_save

        return atomic_save
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
