"""Starting runs, and finding the runs that are already going."""
