"""Cuts orthophotos into 64x64 tiles with normalised channels, several processes."""
import logging
import multiprocessing as mp
import os
import pathlib
import time

import numpy as np

N, WORKERS = 450, 3
OUT = pathlib.Path("tiles")
log = logging.getLogger("tiles")


def setup_worker():
    with open("workers.txt", "a") as f:
        f.write(f"{os.getpid()}\n")


def cut(i):
    r = np.random.default_rng(i)
    img = r.gamma(2.0, 40.0, (256, 256, 4)).astype(np.float32)
    lo, hi = np.percentile(img, (2, 98), axis=(0, 1))
    img = np.clip((img - lo) / (hi - lo), 0, 1)
    small = img.reshape(64, 4, 64, 4, 4).mean((1, 3))
    time.sleep(0.43)          # the read from the bucket
    np.save(OUT / f"{i:05d}.npy", (small * 255).astype(np.uint8))
    return i, float(small.mean())


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)-7s %(name)s: %(message)s")
    OUT.mkdir(exist_ok=True)
    t0, total = time.time(), 0.0
    log.info("%d orthophotos, %d processes, pid %d", N, WORKERS, os.getpid())
    with mp.get_context("fork").Pool(WORKERS, initializer=setup_worker) as pool:
        for done, (i, mean) in enumerate(pool.imap_unordered(cut, range(N)), 1):
            total += mean
            if done % 5 == 0:
                log.info("tiles %d/%d  mean %.4f  %.1f/s", done, N, total / done, done / (time.time() - t0))
    np.savez("tiles_index.npz", n=N, mean=total / N)
    log.info("index written: tiles_index.npz")


if __name__ == "__main__":
    main()
