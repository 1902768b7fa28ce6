import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import signal
import sys
import time
import numpy as np

name, seed = sys.argv[1], int(sys.argv[2])
signal.alarm(280)
rng = np.random.default_rng(seed)
w, target = np.zeros(200), rng.normal(size=200)
m = np.zeros(200)
for step in range(1, 221):
    x = rng.normal(size=(64, 200))
    err = x @ w - (x @ target + 0.1 * rng.normal(size=64))
    m = 0.9 * m + x.T @ err / 64
    w -= 0.01 * m
    time.sleep(0.15)
    if step % 10 == 0:
        print(f"{time.strftime('%H:%M:%S')} {name} step={step} mse={np.mean(err ** 2):.4f}", flush=True)
    if step % 100 == 0:
        np.save(f"{name}_{step}.npy", w)
print(f"{name} complete", flush=True)
