"""Linux and the process: nothing in here knows what training is."""
