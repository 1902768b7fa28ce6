"""Gaussian mixture on flow-cytometry-like data, EM in numpy; results go to the lab's table in the background."""
import csv
import queue
import threading
import time

import numpy as np

K, ITER = 5, 90


class Publisher:
    """Writes rows without making the EM wait."""

    def __init__(self, path):
        self.q = queue.Queue()
        self.path = path
        self.thread = threading.Thread(target=self.work, name="publisher")
        self.thread.start()

    def work(self):
        with open(self.path, "w", newline="") as f:
            out = csv.writer(f)
            out.writerow(["iteration", "loglik", "seconds"])
            while True:
                row = self.q.get()
                out.writerow(row)
                f.flush()
                self.q.task_done()

    def put(self, *row):
        self.q.put(row)

    def drain(self):
        self.q.join()


def main():
    rng = np.random.default_rng(77)
    centres = rng.normal(scale=2.0, size=(K, 3))
    x = np.concatenate([c + rng.normal(size=(2000, 3)) for c in centres])
    mu, var, pi = x[rng.choice(len(x), K, replace=False)].copy(), np.ones((K, 3)), np.full(K, 1 / K)
    pub, t0 = Publisher("em.csv"), time.time()
    for it in range(1, ITER + 1):
        logp = (-0.5 * ((x[:, None] - mu) ** 2 / var + np.log(2 * np.pi * var)).sum(-1)) + np.log(pi)
        top = logp.max(1, keepdims=True)
        norm = top + np.log(np.exp(logp - top).sum(1, keepdims=True))
        r = np.exp(logp - norm)
        n = r.sum(0)
        mu = r.T @ x / n[:, None]
        var = np.maximum(r.T @ x ** 2 / n[:, None] - mu ** 2, 1e-3)
        pi = n / len(x)
        pub.put(it, round(float(norm.mean()), 6), round(time.time() - t0, 1))
        if it % 5 == 0:
            print(f"EM iteration {it}/{ITER}: mean log-likelihood {norm.mean():.5f}", flush=True)
        time.sleep(0.4)
    pub.drain()
    np.savez("mixture.npz", mu=mu, var=var, pi=pi)
    print("Mixture written to mixture.npz. Done.", flush=True)


if __name__ == "__main__":
    main()
