"""How fast a run is, how long it pauses, and what its processes do in the meantime."""
