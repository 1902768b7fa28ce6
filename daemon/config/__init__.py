"""What a person decides: the configuration, places, secrets, what a run is."""
