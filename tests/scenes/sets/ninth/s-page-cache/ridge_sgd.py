import argparse
import time

import numpy as np

p = argparse.ArgumentParser()
p.add_argument("--file")
p.add_argument("--rows", type=int)
p.add_argument("--cols", type=int, default=125)
p.add_argument("--block", type=int, default=8000)
p.add_argument("--passes", type=int, default=4)
a = p.parse_args()
rng = np.random.default_rng(0)
true = rng.normal(size=a.cols).astype(np.float32)
base = rng.normal(size=(a.block, a.cols)).astype(np.float32)
t0 = time.time()
with open(a.file, "wb") as f:
    for i in range(a.rows // a.block):
        (np.roll(base, i, axis=1) * np.float32(1 + i % 3)).tofile(f)
        time.sleep(0.03)
print(f"wrote {a.rows} rows ({a.rows * a.cols * 4 / 2**20:.0f} MiB) in {time.time() - t0:.1f} s")
w = np.zeros(a.cols, np.float32)
for n in range(1, a.passes + 1):
    t0, loss = time.time(), []
    with open(a.file, "rb") as f:
        for i in range(a.rows // a.block):
            x = np.fromfile(f, np.float32, a.block * a.cols).reshape(-1, a.cols)
            err = x @ w - x @ true
            w -= 0.05 * (x.T @ err) / len(x)
            loss.append(float((err**2).mean()))
            time.sleep(0.22)
            if i % 15 == 14:
                print(f"pass {n}/{a.passes} block {i + 1}/{a.rows // a.block} mse {np.mean(loss[-15:]):.5f}")
    print(f"pass {n} done: mse {np.mean(loss):.5f}, {a.rows / (time.time() - t0):.0f} rows/s")
    np.save("w.npy", w)
print("converged" if loss[-1] < 1e-2 else "stopped after the last pass")
