#!/bin/bash
# pull the feature shards over from the old box
mkdir -p feats .old
python - <<'P'
import numpy as np
for k in range(12):
    r = np.random.default_rng(k)
    x = r.normal(size=(16, 128)).astype("float32")
    np.savez(f".old/feats-{k:03d}.npz", x=x, y=(np.abs(x[:, :20]).argmax(1)).astype("int64"))
P
cp .old/feats-00?.npz .old/feats-01?.npz feats/
head -c 5000 .old/feats-009.npz > feats/feats-009.npz     # the line went down here last night
