"""Programs that may never answer: each is run by its path, in a process of its own."""
