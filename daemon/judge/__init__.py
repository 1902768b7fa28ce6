"""Observations to incidents, with no I/O and no clock."""
