"""The engine of a place."""

from __future__ import annotations

from importlib import import_module

from .engine import Engine


def engine(place: str) -> Engine:
    """The engine of ``place``, a module of this package whose class is ``Driver``; imported only when asked."""
    driver: Engine = import_module(f".{place}", __package__).Driver()
    return driver
