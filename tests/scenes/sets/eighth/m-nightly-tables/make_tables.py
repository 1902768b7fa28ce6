"""Writes the tables and their index (the exporter's job; here made up)."""
import glob, json, os, sys
import numpy as np

if "--index-only" not in sys.argv:
    os.makedirs("tables", exist_ok=True)
    for i in range(6):
        r = np.random.default_rng(i)
        x = r.normal(size=(400, 21)).astype("float32")
        np.save(f"tables/t{i}.npy", x)
    with open("tables/t4.npy", "r+b") as f:            # the exporter was cut off here
        f.truncate(20000)
files = sorted(glob.glob("tables/t*.npy"))
json.dump({"files": files, "embed": len(files) * 8}, open("index.json", "w"))
print("index:", len(files), "tables")
