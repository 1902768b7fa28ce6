"""Linux, files, processes and the loop. Nothing in here is about training."""
