"""The way between a person's machine and a box: everything goes over the system's ssh and rsync."""
