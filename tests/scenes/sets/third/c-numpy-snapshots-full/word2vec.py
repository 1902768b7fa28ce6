"""Skip-gram with negative samples in numpy; a snapshot every 25 steps for the nearest neighbour plots."""
import logging
import sys
import time

import numpy as np

logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")
log = logging.getLogger("w2v")
VOCAB, DIM, PAIRS, NEG, STEPS = 4000, 64, 2048, 5, 4000
rng = np.random.default_rng(12)
U = (0.1 * rng.normal(size=(VOCAB, DIM))).astype("float32")
V = (0.1 * rng.normal(size=(VOCAB, DIM))).astype("float32")


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-np.clip(x, -15, 15)))


def pairs():
    """Words of the same topic (100 topics of 40 words) come together."""
    topic = rng.integers(0, 100, PAIRS)
    return topic * 40 + rng.integers(0, 40, PAIRS), topic * 40 + rng.integers(0, 40, PAIRS)


def train_step(lr):
    c, o = pairs()
    neg = rng.integers(0, VOCAB, (PAIRS, NEG))
    u, v, vn = U[c], V[o], V[neg]
    p = sigmoid((u * v).sum(1))
    n = sigmoid(np.einsum("pd,pnd->pn", u, vn))
    loss = -np.log(p + 1e-9).mean() - np.log(1 - n + 1e-9).sum(1).mean()
    gp, gn = (p - 1)[:, None], n[:, :, None]
    np.add.at(U, c, -lr * (gp * v + (gn * vn).sum(1)))
    np.add.at(V, o, -lr * gp * u)
    np.add.at(V, neg, -lr * gn * u[:, None, :])
    return float(loss)


def snapshot(step):
    name = f"scratch/emb_{step:05d}.npz"
    try:
        np.savez(name, U=U, V=V, step=step)
        log.info("snapshot %s", name)
    except (OSError, ValueError) as e:
        log.warning("snapshot %s failed (%s), next try in 25 steps", name, e)


def main():
    print("step,loss,words_per_s,lr", flush=True)
    t = time.time()
    for step in range(1, STEPS + 1):
        lr = 0.3 * (1 - step / STEPS)
        loss = train_step(lr)
        time.sleep(0.17)
        if step % 5 == 0:
            print(f"{step},{loss:.4f},{5 * PAIRS / (time.time() - t):.0f},{lr:.4f}", flush=True)
            t = time.time()
        if step % 25 == 0:
            snapshot(step)


if __name__ == "__main__":
    main()
