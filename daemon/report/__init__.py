"""What a person or a program reads about a run: facts, pushes, the status page, the index file."""
