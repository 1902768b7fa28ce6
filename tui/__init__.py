"""The terminal screens; they own nothing and ask the daemon for everything."""
