"""Configuration, paths of middlewatch's files, masking of secrets, description of a run."""
