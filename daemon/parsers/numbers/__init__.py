"""Metrics: find and name the numbers of a line, by a grammar."""
