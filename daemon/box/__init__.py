"""What this machine is: whose it is, what outlives it, what can be watched here."""
