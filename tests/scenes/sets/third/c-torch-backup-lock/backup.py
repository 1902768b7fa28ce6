"""Nightly copy of the data set in chunks; holds the data set's lock while a chunk is copied and checked."""
import fcntl
import os
import sys
import time
import zlib

parent = os.getppid()
size = os.path.getsize("data.bin")
chunks = 24
with open("data.bin", "rb") as src, open("data.bak", "wb") as dst, open("data.lock") as lock:
    for i in range(chunks):
        fcntl.flock(lock, fcntl.LOCK_EX)
        part = src.read(size // chunks + 1)
        crc = 0
        for k in range(0, len(part), 1024):      # slow target
            dst.write(part[k:k + 1024])
            crc = zlib.crc32(part[k:k + 1024], crc)
            time.sleep(4.0 * 1024 / max(len(part), 1024))
        fcntl.flock(lock, fcntl.LOCK_UN)
        print(f"chunk {i + 1}/{chunks} crc {crc:08x}", flush=True)
        if os.getppid() != parent:
            sys.exit(1)
        time.sleep(0.05)
