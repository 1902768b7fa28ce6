"""What rules remember of a loss and of the numbers beside it."""
