"""Shards of the spool to JSON token lists on stdout, in the manifest's order."""
import json
import os
import sys
import time

vocab = {}
for line in open("mirror/MANIFEST"):
    name = line.split()[1]
    path = f"spool/{name}"
    while not os.path.exists(path):
        time.sleep(0.2)
    for k, text in enumerate(open(path)):
        ids = [vocab.setdefault(w, len(vocab) + 1) for w in text.split()]
        sys.stdout.write(json.dumps({"shard": name, "line": k, "text": text.strip(), "input_ids": ids}) + "\n")
    sys.stdout.flush()
    os.remove(path)
