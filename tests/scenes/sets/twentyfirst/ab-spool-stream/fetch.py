"""Brings the shards of the manifest to the spool, at most two ahead of the tokeniser."""
import hashlib
import os
import shutil
import time

os.makedirs("spool", exist_ok=True)
for line in open("mirror/MANIFEST"):
    md5, name = line.split()
    while len([n for n in os.listdir("spool") if n.endswith(".txt")]) >= 2:
        time.sleep(0.5)
    tmp = f"spool/.{name}.part"
    shutil.copyfile(f"mirror/{name}", tmp)
    got = hashlib.md5(open(tmp, "rb").read()).hexdigest()
    if got != md5:
        raise SystemExit(f"fetch: checksum mismatch for {name}: {got} != {md5}, giving up")
    os.rename(tmp, f"spool/{name}")
    print(time.strftime("%T"), "fetched", name, flush=True)
