import time

import numpy as np

rng = np.random.default_rng(0)
a = rng.normal(size=(200, 200))
q = rng.normal(size=200)
for k in range(60):
    q = a @ (a.T @ q)
    q /= np.linalg.norm(q)
    if k % 10 == 0:
        print(f"iteration {k} sigma {np.linalg.norm(a.T @ q):.4f}")
    time.sleep(0.45)
