import argparse
import time

import numpy as np

ap = argparse.ArgumentParser()
ap.add_argument("--ckpt")
ap.add_argument("--n", type=int)
a = ap.parse_args()
w = np.load(a.ckpt)
rng = np.random.default_rng(9)
right = 0
for i in range(a.n):
    x = rng.normal(size=w.shape[0])
    p = int((x @ w).argmax())
    y = int(x[:w.shape[1]].argmax())
    right += p == y
    print(f"样本 {i:05d}  预测={p}  标签={y}  {'正确' if p == y else '错误'}")
    if i % 400 == 0:
        time.sleep(0.3)
print(f"准确率 {right / a.n:.4f}")
