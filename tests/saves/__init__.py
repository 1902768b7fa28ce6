"""Real saves by real libraries, with the truth beside each: see README.md."""
