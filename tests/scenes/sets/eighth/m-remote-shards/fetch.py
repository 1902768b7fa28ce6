"""Brings shards from the cold volume into ./cache. The volume has a base rate and burst credit like the cheap cloud disks."""
import os, sys, time

BASE, CREDIT = float(sys.argv[1]), float(sys.argv[2])      # bytes/s, bytes
KEEP = 6
CHUNK = 8192
os.makedirs("cache", exist_ok=True)
credit, last, i = CREDIT, time.time(), 0
parent = os.getppid()
while os.getppid() == parent:
    while os.getppid() == parent and len([f for f in os.listdir("cache") if f.endswith(".bin")]) >= KEEP:
        time.sleep(0.05)
    src = f"cold/shard_{i % 24:03d}.bin"
    with open(src, "rb") as r, open("cache/part", "wb") as w:
        while True:
            b = r.read(CHUNK)
            if not b:
                break
            now = time.time()
            credit = min(CREDIT, credit + (now - last) * BASE)
            last = now
            if credit < len(b):
                time.sleep((len(b) - credit) / BASE)
            credit -= len(b)
            w.write(b)
    os.replace("cache/part", f"cache/{i:06d}.bin")
    i += 1
