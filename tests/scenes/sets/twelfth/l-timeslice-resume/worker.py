import json
import os
import signal
import sys
import time

import numpy as np

SLICE_S = 20
TOTAL = 700
t0 = time.time()
rng = np.random.default_rng()
stop = []
signal.signal(signal.SIGTERM, lambda *_: stop.append(1))

w, step = np.zeros(10), 0
if os.path.exists("snap.npz"):
    z = np.load("snap.npz")
    w, step = z["w"], int(z["step"])
    print(f"[worker {os.getpid()}] restored snapshot, step={step}", flush=True)
else:
    print(f"[worker {os.getpid()}] cold start", flush=True)
target = np.linspace(-1, 1, 10)
while step < TOTAL:
    x = rng.normal(size=(32, 10))
    err = x @ (w - target) + 0.1 * rng.normal(size=32)
    w -= 0.004 * x.T @ err / 32
    step += 1
    time.sleep(0.1)
    if step % 20 == 0:
        print(f"[worker {os.getpid()}] step={step}/{TOTAL} mse={np.mean(err**2):.4f}", flush=True)
    if stop or time.time() - t0 > SLICE_S:
        np.savez("snap.tmp.npz", w=w, step=step)
        os.replace("snap.tmp.npz", "snap.npz")
        print(f"[worker {os.getpid()}] time slice used up, snapshot at step={step}, yielding with code 75", flush=True)
        sys.exit(75)
np.savez("model.npz", w=w)
json.dump({"steps": step, "mse": float(np.mean(err**2))}, open("result.json", "w"))
print(f"[worker {os.getpid()}] complete, mse={np.mean(err**2):.4f}", flush=True)
