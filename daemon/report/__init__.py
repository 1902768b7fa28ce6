"""What is told about a run: facts, messages, pushes, the status page, the index file."""
