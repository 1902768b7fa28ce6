"""Reads the raw plays of the radio app; broken rows are reported and left out."""
import logging
import os
import time

import numpy as np

logging.basicConfig(level=logging.INFO, format="%(asctime)s prepare %(levelname)s %(message)s")
PAUSE = float(os.environ.get("PAUSE", "1"))
r = np.random.default_rng(12)
U, I = r.normal(0, 1, (300, 6)), r.normal(0, 1, (200, 6))
with open("plays.tsv", "w") as f:
    for n in range(24000):
        u, i = r.integers(300), r.integers(200)
        m = max(0.0, 20 + 4 * U[u] @ I[i] + r.normal(0, 3))
        f.write(f"u{u}\ti{i}\t{m:.1f}\n" if n % 3001 != 1500 else f"u{u}\ti{i}\tn/a\n")
rows, bad = [], 0
for n, line in enumerate(open("plays.tsv")):
    u, i, m = line.split()
    try:
        rows.append((int(u[1:]), int(i[1:]), float(m)))
    except ValueError as e:
        bad += 1
        logging.error("row %d: %s, left out", n, e)
    if n % 1000 == 999:
        logging.info("%d of 24000 rows", n + 1)
        time.sleep(PAUSE)
logging.info("%d rows kept, %d left out (%.2f %%)", len(rows), bad, 100 * bad / 24000)
logging.info("sorting and splitting")
time.sleep(16 * PAUSE)  # the sort on the slow volume
a = np.array(sorted(rows))
np.save("plays.npy", a[r.permutation(len(a))])
logging.info("wrote plays.npy")
