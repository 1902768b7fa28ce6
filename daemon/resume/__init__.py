"""How a run that ended goes on: from which checkpoint, by which command."""
