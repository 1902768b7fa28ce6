"""Parsers: bytes of a log in, steps and events out."""
