"""Facts about this box: its platform, which files outlive it, what can be watched here."""
