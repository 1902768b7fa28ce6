"""Four independent members of an ensemble, one a rank; no communication, different lengths."""
import logging
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np

rank = int(os.environ["RANK"])
os.makedirs("logs", exist_ok=True)
handlers = [logging.FileHandler(f"logs/member{rank}.log")]
if rank == 0:
    handlers.append(logging.StreamHandler())
logging.basicConfig(level=logging.INFO, handlers=handlers, format=f"%(asctime)s member{rank} %(message)s")
log = logging.getLogger()

trees = [60, 120, 180, 320][rank]
rng = np.random.default_rng(rank)
x = rng.normal(size=(800, 10))
y = np.sin(x[:, 0] * 2) + 0.5 * (x[:, 1] > 0) + 0.1 * rng.normal(size=800)
pred, stumps = np.zeros(800), []
log.info("boosting with %d stumps", trees)
for k in range(1, trees + 1):
    res = y - pred
    best = None
    for f in range(10):
        for thr in np.quantile(x[:, f], [0.2, 0.4, 0.6, 0.8]):
            m = x[:, f] > thr
            lo, hi = res[~m].mean(), res[m].mean()
            err = ((res - np.where(m, hi, lo)) ** 2).mean()
            if best is None or err < best[0]:
                best = (err, f, thr, lo, hi)
    _, f, thr, lo, hi = best
    stumps.append((f, thr, lo, hi))
    pred += 0.1 * np.where(x[:, f] > thr, hi, lo)
    time.sleep(0.25)
    if k % 10 == 0:
        log.info("stump %d/%d mse %.4f", k, trees, ((y - pred) ** 2).mean())
np.save(f"member{rank}.npy", np.array(stumps))
log.info("member %d complete", rank)
