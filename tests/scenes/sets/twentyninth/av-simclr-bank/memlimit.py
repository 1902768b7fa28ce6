"""Stands for the memory limit of the slice: SIGKILL to the job when its resident memory is above it."""
import os
import signal
import sys
import time

pid, limit = int(sys.argv[1]), int(sys.argv[2]) * 1024
while True:
    try:
        with open(f"/proc/{pid}/status") as f:
            rss = [int(line.split()[1]) for line in f if line.startswith("VmRSS")]
    except OSError:
        break
    if not rss:
        break
    if rss[0] > limit:
        os.kill(pid, signal.SIGKILL)
        break
    time.sleep(0.05)
