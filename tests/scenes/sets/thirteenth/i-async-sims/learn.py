import logging
import multiprocessing as mp
import time

import numpy as np
from sim import worker

WORKERS, ROUNDS = 3, 200
logging.basicConfig(filename="train.log", level=logging.INFO,
                    format="%(asctime)s [%(levelname)s] %(name)s - %(message)s")
log = logging.getLogger("learner")


class Model:
    def __init__(self, rng):
        self.w1, self.w2 = rng.normal(size=(16, 64)) * 0.2, rng.normal(size=(64, 16)) * 0.05

    def fit(self, x, y, lr=0.02, steps=20):
        for _ in range(steps):
            h = np.tanh(x @ self.w1)
            err = h @ self.w2 - y
            g2 = h.T @ err / len(x)
            g1 = x.T @ ((err @ self.w2.T) * (1 - h**2)) / len(x)
            self.w1 -= lr * g1
            self.w2 -= lr * g2
        return float((err**2).mean())


def main():
    rng = np.random.default_rng(7)
    tasks, results = mp.Queue(), mp.Queue()
    procs = [mp.Process(target=worker, args=(i, tasks, results), daemon=True) for i in range(WORKERS)]
    for p in procs:
        p.start()
    model, began = Model(rng), time.time()
    log.info("%d simulators, %d rounds", WORKERS, ROUNDS)
    for r in range(1, ROUNDS + 1):
        for i in range(WORKERS):
            drive = 0.1 * (r % 5) if r <= 24 else float(rng.uniform(1.0, 2.0))
            tasks.put({"seed": r * WORKERS + i, "drive": drive, "burn_in": r <= 24})
        batch = [results.get()[1] for _ in range(WORKERS)]
        x = np.clip(np.concatenate([b[:-1] for b in batch]), -5, 5)
        y = np.clip(np.concatenate([b[1:] - b[:-1] for b in batch]), -1, 1)
        loss = model.fit(x, y)
        log.info("round %d/%d loss %.5f samples %d elapsed %.0fs", r, ROUNDS, loss, len(x), time.time() - began)
        if r % 10 == 0:
            np.savez("model.npz", w1=model.w1, w2=model.w2)
    for _ in procs:
        tasks.put(None)


if __name__ == "__main__":
    main()
