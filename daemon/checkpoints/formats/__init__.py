"""What one file of a checkpoint holds, told without executing anything of it."""
