"""Turning observations into incidents. Nothing here does I/O or reads a clock."""
