"""One short MD run with the current potential: explore.py SEED DT OUT.  Exit code 3: trajectory not usable."""
import sys

import numpy as np

seed, dt, target = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
rng = np.random.default_rng(seed)
x, v = rng.normal(0, 0.3, 12), rng.normal(0, 1.0, 12)
frames = []
with np.errstate(all="ignore"):
    for frame in range(400):
        v -= dt * (60.0 * x + 25.0 * x**3)
        x += dt * v
        e = 0.5 * np.sum(v**2) + np.sum(30 * x**2 + 6.25 * x**4)
        if frame % 40 == 0:
            print(f"  md seed={seed} dt={dt} frame={frame} E={e:.4g}", flush=True)
        if not np.isfinite(e):
            print(f"  md seed={seed} unstable, E={e} at frame {frame}, trajectory discarded", flush=True)
            sys.exit(3)
        frames.append(x.copy())
np.save(target, np.array(frames[::20]))
