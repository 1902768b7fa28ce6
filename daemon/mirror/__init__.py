"""Copies of verified checkpoints in a second place. A copy is good once it was read back."""
