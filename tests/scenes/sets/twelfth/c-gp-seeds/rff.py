"""Random-feature regression on the output of a small chaotic map; mini-batch gradient descent with momentum."""
import argparse
import time

import numpy as np

p = argparse.ArgumentParser()
p.add_argument("--seed", type=int, required=True)
p.add_argument("--lr", type=float, required=True)
p.add_argument("--iters", type=int, default=150)
p.add_argument("--out", required=True)
a = p.parse_args()
rng = np.random.default_rng(a.seed)


def series(n):
    x, y, out = 0.1, 0.3, []
    for _ in range(n + 100):
        x, y = 1 - 1.4 * x * x + y, 0.3 * x
        out.append(x)
    return np.array(out[100:])


s = series(4000)
lags = np.stack([s[i:i + 3990] for i in range(6)], 1)
target = s[8:3998]
freq, phase = rng.normal(0, 1.2, (6, 256)), rng.uniform(0, 2 * np.pi, 256)
feat = np.sqrt(2) * np.cos(lags @ freq + phase)
train, test = slice(0, 3200), slice(3200, None)
w, mom = np.zeros(256), np.zeros(256)
print(f"seed={a.seed} lr={a.lr} features=256 train=3200 test={len(target[test])}")
for it in range(1, a.iters + 1):
    pick = rng.integers(3200, size=128)
    err = feat[pick] @ w - target[pick]
    mom = 0.9 * mom + feat[pick].T @ err / 128
    w -= a.lr * mom
    time.sleep(0.06)
    if it % 10 == 0:
        test_mse = np.mean((feat[test] @ w - target[test]) ** 2)
        print(f"it={it} mse={np.mean(err**2):.4f} test_mse={test_mse:.4f}")
with open(a.out, "w") as f:
    f.write(f"{a.seed}/{a.lr} {test_mse:.5f}\n")
print("ok")
