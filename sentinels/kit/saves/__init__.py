"""What a run saved: how often, how much, and whether the saves are good."""
