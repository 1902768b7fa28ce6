"""What a training will need, from a few numbers about it: memory of a GPU, disk for its saves. Pure."""
