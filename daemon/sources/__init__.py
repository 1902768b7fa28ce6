"""Sources: each reads one thing of the box and yields observations of it."""
