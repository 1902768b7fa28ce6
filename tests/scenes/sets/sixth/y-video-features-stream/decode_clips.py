"""Decodes clips into shards of features. A shard takes its time; broken clips are left out."""
import os
import sys
import time

import numpy as np

SHARDS, CLIPS = 12, 300
os.makedirs("shards", exist_ok=True)
w = np.random.default_rng(40).normal(0, 1, 32)
for s in range(SHARDS):
    rng = np.random.default_rng(500 + s)
    x = rng.normal(0, 1, (CLIPS, 32))
    x[rng.random(CLIPS) < 0.02] = np.nan
    y = np.nan_to_num(x) @ w + rng.normal(0, 0.5, CLIPS)
    time.sleep(rng.uniform(5.0, 8.0))
    bad = np.isnan(x).any(1)
    for k in np.flatnonzero(bad):
        print(f"[decoder] [mov,mp4 @ clip_{s:02d}{k:03d}] moov atom not found: Invalid data found when processing input, clip skipped",
              file=sys.stderr, flush=True)
    np.savez(f"shards/.part_{s:03d}.npz", x=x[~bad], y=y[~bad])
    os.rename(f"shards/.part_{s:03d}.npz", f"shards/part_{s:03d}.npz")
open("shards/COMPLETE", "w").close()
print("[decoder] all shards written, bye", file=sys.stderr, flush=True)
