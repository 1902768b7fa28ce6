"""Actor-learner: twee actors spelen, de leerder wacht op een rollout van elk."""
import logging
import multiprocessing as mp
import os
import time

import numpy as np

log = logging.getLogger("leerder")
OBS, ACT = 6, 3


def speel(w, rng, n=128):
    s = rng.normal(size=(n, OBS))
    z = s @ w
    p = np.exp(z - z.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    a = (p.cumsum(1) > rng.random((n, 1))).argmax(1)
    r = np.where(a == np.digitize(s[:, 0] + 0.5 * s[:, 1], [-0.5, 0.5]), 1.0, 0.0)
    return s, a, r, p


def actor(i, w_in, uit):
    open(f"actor{i}.pid", "w").write(str(os.getpid()))
    rng = np.random.default_rng(100 + i)
    while True:
        w = w_in.get()
        if w is None:
            return
        time.sleep(0.35 + 0.05 * i)
        uit.put(speel(w, rng))


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    ctx = mp.get_context("spawn")
    ins, outs, ps = [], [], []
    for i in range(2):
        qi, qo = ctx.Queue(), ctx.Queue()
        p = ctx.Process(target=actor, args=(i, qi, qo), daemon=True)
        p.start()
        ins.append(qi), outs.append(qo), ps.append(p)
        log.info("actor %d gestart, pid %d", i, p.pid)
    w = np.zeros((OBS, ACT))
    for u in range(1, 601):
        for q in ins:
            q.put(w)
        batch = [q.get() for q in outs]
        s, a, r, p = (np.concatenate([b[k] for b in batch]) for k in range(4))
        adv = r - r.mean()
        g = s.T @ ((np.eye(ACT)[a] - p) * adv[:, None]) / len(a)
        w = w + 0.3 * g
        log.info("update %d beloning=%.3f entropie=%.3f", u, r.mean(), -(p * np.log(p + 1e-9)).sum(1).mean())
        if u % 25 == 0:
            np.save("gewichten.npy", w)
            log.info("gewichten opgeslagen bij update %d", u)
    for q in ins:
        q.put(None)
    log.info("klaar")


if __name__ == "__main__":
    main()
