"""Drawing text on a terminal, for both commands and screens."""
