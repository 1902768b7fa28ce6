import os
import pickle
import time
from datetime import datetime

import numpy as np
from model import Mlp

STATE = "state/nightly.pkl"
TOTAL = 900


def note(level, msg, **kw):
    extra = " ".join(f"{k}={v}" for k, v in kw.items())
    print(f"{datetime.now():%Y-%m-%d %H:%M:%S.%f} | {level: <8} | nightly:main - {msg} {extra}".rstrip(), flush=True)


def save(step, net):
    note("INFO", f"saving state at step {step}")
    blob = pickle.dumps({"step": step, "net": net})
    with open(STATE, "wb") as f:
        for k in range(0, len(blob), 16384):     # the share takes small writes best
            f.write(blob[k:k + 16384])
            f.flush()
            time.sleep(0.05)
    note("SUCCESS", "state saved", bytes=len(blob))


def load():
    if not os.path.exists(STATE):
        return 0, Mlp([100, 200, 1])
    with open(STATE, "rb") as f:
        state = pickle.load(f)
    note("INFO", "resumed", step=state["step"])
    return state["step"], state["net"]


def main():
    os.makedirs("state", exist_ok=True)
    with open("nightly.pid", "w") as f:
        f.write(str(os.getpid()))
    first, net = load()
    truth = np.random.default_rng(1).normal(size=(100, 1))
    for step in range(first + 1, TOTAL + 1):
        r = np.random.default_rng(step)
        x = r.normal(size=(64, 100))
        y = (x @ truth + r.normal(size=(64, 1)) > 0).astype(float)
        loss = net.train(x, y, 1e-3)
        time.sleep(0.15)
        if step % 10 == 0:
            note("INFO", "train", step=step, total=TOTAL, logloss=f"{loss:.4f}")
        if step % 60 == 0:
            save(step, net)
    note("SUCCESS", "all done")


main()
