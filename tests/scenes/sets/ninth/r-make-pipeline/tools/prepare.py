import argparse
import time

import numpy as np

p = argparse.ArgumentParser()
p.add_argument("--out")
a = p.parse_args()
r = np.random.default_rng(5)
w = r.normal(size=(30, 4))
for split, parts in (("train", 12), ("test", 4)):
    xs, ys = [], []
    for k in range(parts):
        x = r.normal(size=(100, 30))
        xs.append(x)
        ys.append((x @ w + r.gumbel(size=(100, 4))).argmax(1))
        time.sleep(0.5)
        print(f"{split}: part {k + 1}/{parts}")
    np.savez(f"{a.out}/{split}.npz", x=np.concatenate(xs).astype("float32"), y=np.concatenate(ys))
