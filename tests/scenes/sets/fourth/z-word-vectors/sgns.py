#!/usr/bin/env python3
"""Skip-gram with negative samples, by hand in numpy."""
import time
import numpy as np

V, DIM, BATCH = 6000, 100, 2048
rng = np.random.default_rng(1)
zipf = 1.0 / np.arange(1, V + 1)
zipf /= zipf.sum()


def sigmoid(z):
    return 1.0 / (1.0 + np.exp(-np.clip(z, -30, 30)))


def main():
    win = rng.normal(0, 0.1, (V, DIM))
    wout = np.zeros((V, DIM))
    trace = []                        # for the plots in the report
    best = np.inf
    for it in range(1, 1001):
        c = rng.choice(V, BATCH, p=zipf)
        pos = (c + rng.integers(1, 4, BATCH)) % V
        neg = rng.choice(V, (BATCH, 5), p=zipf)
        h = win[c]
        ctx = wout[np.concatenate([pos[:, None], neg], 1)]          # BATCH x 6 x DIM
        score = sigmoid(np.einsum("bd,bkd->bk", h, ctx))
        label = np.zeros_like(score)
        label[:, 0] = 1
        loss = -(np.log(score[:, 0]) + np.log(1 - score[:, 1:] + 1e-9).sum(1)).mean()
        err = (score - label)[..., None]
        trace.append({"iter": it, "loss": loss, "ctx": ctx})
        np.add.at(wout, pos, -0.1 * err[:, 0] * h)
        np.add.at(win, c, -0.1 * (err * ctx).sum(1))
        best = min(best, loss)
        time.sleep(0.25)
        if it % 5 == 0:
            print(f"[{time.strftime('%H:%M:%S')}] it={it} loss={loss:.4f} best={best:.4f}", flush=True)
        if it % 100 == 0:
            np.savez("vectors.npz", win=win, wout=wout)
    np.savez("vectors.npz", win=win, wout=wout)
    print("done")


main()
