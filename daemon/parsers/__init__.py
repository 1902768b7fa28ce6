"""Parsers: they turn the bytes of a log into steps and events."""
