"""The terminal screens. They have no data of their own: everything is asked from the daemon."""
