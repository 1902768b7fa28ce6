"""Softmax regression on spectra; the curves go into results/curves.h5, the table to stdout."""
import os
import sys
import time

import h5py
import numpy as np

CLASSES, DIM, ITERS = 6, 80, 400
RESULTS = "results/curves.h5"


def make_spectra(n=3000, seed=12):
    rng = np.random.default_rng(seed)
    lines = rng.uniform(5, DIM - 5, size=(CLASSES, 3))
    y = rng.integers(0, CLASSES, n)
    grid = np.arange(DIM)
    x = np.exp(-0.5 * ((grid - lines[y][:, :, None]) / 2.0) ** 2).sum(1)
    return x + 0.6 * rng.normal(size=x.shape), y


def append(name, rows):
    with h5py.File(RESULTS, "a") as f:
        data = f[name]
        have = data.shape[0]
        data.resize(have + len(rows), axis=0)
        data[have:have + len(rows)] = rows


def main():
    os.makedirs("results", exist_ok=True)
    x, y = make_spectra()
    xt, yt, xv, yv = x[:2400], y[:2400], x[2400:], y[2400:]
    with h5py.File(RESULTS, "w") as f:
        f.create_dataset("curve", shape=(0, 3), maxshape=(None, 3), dtype="f4", chunks=(64, 3))
        f.create_dataset("weights", shape=(0, DIM, CLASSES), maxshape=(None, DIM, CLASSES), dtype="f4", chunks=(1, DIM, CLASSES))
    rng = np.random.default_rng(0)
    w, m = np.zeros((DIM, CLASSES)), np.zeros((DIM, CLASSES))
    pending = []
    print("iter,loss,val_acc,seconds")
    began = time.time()
    for it in range(1, ITERS + 1):
        pick = rng.integers(0, len(xt), 128)
        z = xt[pick] @ w
        z -= z.max(1, keepdims=True)
        p = np.exp(z)
        p /= p.sum(1, keepdims=True)
        loss = -np.log(p[np.arange(128), yt[pick]] + 1e-12).mean()
        p[np.arange(128), yt[pick]] -= 1
        m = 0.9 * m + xt[pick].T @ p / 128
        w -= 0.01 * m
        time.sleep(0.35)
        acc = float(((xv @ w).argmax(1) == yv).mean())
        pending.append((it, loss, acc))
        if it % 2 == 0:
            print(f"{it},{loss:.5f},{acc:.4f},{time.time() - began:.1f}")
        if it % 8 == 0:
            append("curve", np.array(pending, dtype="f4"))
            append("weights", w[None].astype("f4"))
            pending = []
    print("done", file=sys.stderr)


if __name__ == "__main__":
    main()
