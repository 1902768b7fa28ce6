"""Which checkpoints may go, and how they are removed."""
