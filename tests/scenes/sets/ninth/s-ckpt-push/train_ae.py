import logging
import os
import time

import numpy as np
import requests

logging.basicConfig(level=logging.INFO, format="[%(asctime)s][%(name)s][%(levelname)s] %(message)s")
log = logging.getLogger("ae")
logging.getLogger("urllib3").setLevel(logging.WARNING)
rng = np.random.default_rng(0)
D, H = 256, 220
w1, w2 = rng.normal(scale=0.05, size=(D, H)), rng.normal(scale=0.05, size=(H, D))
basis = rng.normal(size=(20, D))


def step(lr=0.02):
    global w1, w2
    x = rng.normal(size=(32, 20)) @ basis / 4.5
    h = np.tanh(x @ w1)
    err = h @ w2 - x
    g2 = h.T @ err / len(x)
    g1 = x.T @ (err @ w2.T * (1 - h**2)) / len(x)
    w1, w2 = w1 - lr * g1, w2 - lr * g2
    return (err**2).mean()


def push(epoch):
    path = f"ae-epoch{epoch:02d}.npz"
    np.savez(path, w1=w1, w2=w2)
    try:
        with open(path, "rb") as f:
            r = requests.put(f"{os.environ['BUCKET_URL']}/{path}", data=f, timeout=20)
        r.raise_for_status()
    except requests.RequestException as error:
        log.error("upload of %s failed: %s", path, error)
    else:
        log.info("uploaded %s (%.1f MB)", path, os.path.getsize(path) / 1e6)
    finally:
        os.remove(path)


for epoch in range(1, 15):
    losses = []
    for i in range(1, 21):
        losses.append(step())
        time.sleep(0.22)
        if i % 10 == 0:
            log.info("epoch %d it %d/20 mse %.5f", epoch, i, np.mean(losses[-10:]))
    push(epoch)
log.info("training finished, final mse %.5f", np.mean(losses))
