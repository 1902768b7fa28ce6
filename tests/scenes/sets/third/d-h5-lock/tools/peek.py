"""Interactive look at the curves while the training runs (what a notebook cell does)."""
import time

import h5py

for attempt in range(50):
    try:
        f = h5py.File("results/curves.h5", "r")
        break
    except OSError:
        time.sleep(0.1)
else:
    raise SystemExit("cannot open")
print(f["curve"].shape, f["curve"][-1])
time.sleep(45)                               # the notebook keeps the file open, somebody looks at a plot
f.close()
