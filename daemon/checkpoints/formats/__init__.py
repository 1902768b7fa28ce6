"""What one file of a checkpoint holds, read without executing anything in it."""
