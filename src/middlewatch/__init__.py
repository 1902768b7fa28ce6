"""middlewatch: the night watch over GPU training on rented boxes.

No logic lives here; the rooms are ``daemon`` (watches, remembers, tells),
``sentinels`` (pure rules) and ``tui`` (shows).
"""

from __future__ import annotations

__version__ = "0.1.0"
