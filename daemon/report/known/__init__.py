"""What common error messages ask for, by what they are about: rows of (pattern on the message, first step)."""
