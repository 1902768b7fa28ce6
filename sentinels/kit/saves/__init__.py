"""What a run saved, how often, how much, and whether it is any good."""
