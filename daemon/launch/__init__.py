"""Launching and finding runs."""
