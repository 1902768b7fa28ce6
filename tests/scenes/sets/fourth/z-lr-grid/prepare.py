import os, time
import numpy as np
os.makedirs("cache", exist_ok=True)
r = np.random.default_rng(0)
w = r.normal(size=(60, 5))
for part in range(6):
    x = r.normal(size=(256, 60)).astype("float32")
    np.save(f"cache/x{part}.npy", x)
    np.save(f"cache/y{part}.npy", (x @ w).argmax(1))
    time.sleep(0.2)
print("cache ready: 6 parts", flush=True)
