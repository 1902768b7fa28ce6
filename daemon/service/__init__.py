"""The resident daemon: its parts, wired together."""
