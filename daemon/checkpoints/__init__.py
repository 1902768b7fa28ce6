"""Checkpoints: found, followed, verified, indexed."""
