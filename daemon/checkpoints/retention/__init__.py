"""Which checkpoints may be deleted, and how they are deleted."""
