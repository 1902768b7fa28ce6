"""Drawing on a terminal, for commands and screens alike."""
