"""middlewatch: the night watch over GPU training on rented boxes.

No logic lives here; the rooms are ``daemon`` (watches, remembers, tells),
``sentinels`` (pure rules) and ``tui`` (shows).
"""

from __future__ import annotations

try:
    # Written by the build, from the tag: importlib.metadata would cost the daemon 4 MB.
    from ._version import __version__  # type: ignore[import-not-found, unused-ignore]
except ImportError:  # a checkout that was never built
    __version__ = "0.1.0"

__all__ = ["__version__"]
