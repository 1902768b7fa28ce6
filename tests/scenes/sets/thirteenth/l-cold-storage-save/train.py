import logging
import os
import time

import numpy as np
from rich.logging import RichHandler

logging.basicConfig(level="INFO", format="%(message)s", datefmt="[%X]", handlers=[RichHandler(show_path=False)])
log = logging.getLogger("trainer")
rng = np.random.default_rng(2)
DEST = "archive"
RATE = 1.2e6  # bytes per second that the archive is allowed to take from us
KEEP = 2
os.makedirs(DEST, exist_ok=True)

table = rng.normal(size=(60_000, 64)).astype(np.float32)
w = np.zeros(64, dtype=np.float32)
truth = rng.normal(size=64).astype(np.float32)


def save(step):
    """The archive is a slow store: write with the agreed rate, sync, then rename."""
    blob = table.tobytes() + w.tobytes()
    part = f"{DEST}/.ckpt-{step:05d}.part"
    t = time.time()
    log.info("saving checkpoint for step %d (%.1f MB) to the archive", step, len(blob) / 1e6)
    with open(part, "wb") as f:
        for i in range(0, len(blob), 1 << 19):
            chunk = blob[i : i + (1 << 19)]
            f.write(chunk)
            f.flush()
            os.fsync(f.fileno())
            time.sleep(len(chunk) / RATE)
    os.replace(part, f"{DEST}/ckpt-{step:05d}.bin")
    for old in sorted(n for n in os.listdir(DEST) if n.startswith("ckpt"))[:-KEEP]:
        os.unlink(f"{DEST}/{old}")
        log.info("rotated %s away", old)
    log.info("saved in %.1fs", time.time() - t)


for step in range(1, 601):
    rows = rng.integers(0, len(table), 64)
    x = table[rows]
    err = x @ (w - truth) + 0.1 * rng.normal(size=64).astype(np.float32)
    w -= 0.02 * x.T @ err / 64
    time.sleep(0.07)
    if step % 15 == 0:
        log.info("step %d/600  loss %.4f  %s", step, float(np.mean(err**2)), "warm-up" if step < 60 else "")
    if step % 200 == 0:
        save(step)
log.info("training finished")
