"""Consistent copy of a sqlite file: lock, copy, unlock. Called by cron."""
import shutil
import sqlite3
import sys

src, dst = sys.argv[1:3]
con = sqlite3.connect(src, isolation_level=None, timeout=60)
con.execute("BEGIN EXCLUSIVE")
print("locked", src, flush=True)
with open(src, "rb") as f, open(dst, "wb") as g:
    shutil.copyfileobj(f, g)
con.execute("COMMIT")
print("copied to", dst, flush=True)
