"""Sources: each reads one thing of the box and says what it saw."""
