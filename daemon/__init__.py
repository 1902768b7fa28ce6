"""The daemon: it watches, remembers and tells."""
