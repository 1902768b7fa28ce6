"""Reading finished logs: one, or all of a run."""
