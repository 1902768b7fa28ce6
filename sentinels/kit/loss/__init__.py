"""What rules remember of a loss, and of the gradient norm, learning rate and loss scale."""
