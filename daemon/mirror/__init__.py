"""Copies of verified checkpoints in a second place: made, read back, and only then called good."""
