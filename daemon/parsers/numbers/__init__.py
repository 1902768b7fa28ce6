"""Metrics: the numbers of a line, by grammar."""
