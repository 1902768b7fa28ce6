"""Resuming a run that ended: from which checkpoint, by which command, and whether it may."""
