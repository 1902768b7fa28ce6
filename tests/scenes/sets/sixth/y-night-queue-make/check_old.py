"""Exits with 1 when the results of last night are not there (then we take no warm start)."""
import os
import sys

if not os.path.exists("last_night/north.npy"):
    print("ERROR: last_night/north.npy not found, no warm start", file=sys.stderr)
    sys.exit(1)
