import time

import numpy as np

rng = np.random.default_rng(0)
V, D, EPOCHS = 400, 32, 10
topic = rng.integers(0, 10, V)
words = [np.flatnonzero(topic == k) for k in range(10)]
win, wout = rng.normal(scale=0.1, size=(V, D)), np.zeros((V, D))


def pairs(n):
    k = rng.integers(0, 10, n)
    a = np.array([rng.choice(words[i]) for i in k])
    b = np.array([rng.choice(words[i]) for i in k])
    return a, b, rng.integers(0, V, n)


def sgns(lr):
    a, b, neg = pairs(256)
    loss = 0.0
    for other, y in ((b, 1.0), (neg, 0.0)):
        va, vo = win[a], wout[other]
        p = 1 / (1 + np.exp(-(va * vo).sum(1)))
        loss -= np.log(np.where(y, p, 1 - p) + 1e-9).mean()
        g = ((p - y) * lr)[:, None]
        np.add.at(win, a, -g * vo)
        np.add.at(wout, other, -g * va)
    return loss


for epoch in range(1, EPOCHS + 1):
    losses = []
    for i in range(25):
        losses.append(sgns(0.2 * (1 - epoch / (EPOCHS + 1))))
        time.sleep(0.24)
        if i % 12 == 11:
            print(time.strftime("%H:%M:%S"), f"epoch={epoch} batch={i + 1} loss={np.mean(losses[-12:]):.4f}")
    np.save(f"ckpt/vectors_{epoch:02d}.npy", win)
print(time.strftime("%H:%M:%S"), "vectors are ready")
