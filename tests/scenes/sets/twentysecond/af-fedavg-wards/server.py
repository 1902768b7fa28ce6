"""FedAvg toy: eight hospital wards, each a process with its own records, one server."""
import logging
import multiprocessing as mp
import os
import time

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import SGDClassifier

N_WARDS = 8
ROUNDS = 160
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s | %(message)s")
log = logging.getLogger("fedavg.server")


def records(ward):
    X, y = make_classification(6000, 40, n_informative=12, flip_y=0.08, random_state=5)
    rows = np.random.default_rng(ward).permutation(6000)[:600]
    return X[rows], y[rows]


def ward_main(ward, conn):
    open(f"run/ward_{ward}.pid", "w").write(str(os.getpid()))
    X, y = records(ward)
    clf = SGDClassifier(loss="log_loss", alpha=1e-4, learning_rate="constant", eta0=0.002, random_state=ward)
    clf.partial_fit(X[:20], y[:20], classes=[0, 1])
    while True:
        msg = conn.recv()
        if msg is None:
            return
        coef, intercept = msg
        clf.coef_[:], clf.intercept_[:] = coef, intercept
        clf.partial_fit(X, y)
        time.sleep(0.25 + 0.02 * ward)
        conn.send((clf.coef_.copy(), clf.intercept_.copy(), len(X)))


def main():
    os.makedirs("run", exist_ok=True)
    os.makedirs("ckpt", exist_ok=True)
    pairs = [mp.Pipe() for _ in range(N_WARDS)]
    wards = [mp.Process(target=ward_main, args=(i, pairs[i][1]), daemon=True) for i in range(N_WARDS)]
    for w in wards:
        w.start()
    log.info("%d wards joined, %d rounds", N_WARDS, ROUNDS)
    Xv, yv = make_classification(6000, 40, n_informative=12, flip_y=0.08, random_state=5)
    coef, intercept = np.zeros((1, 40)), np.zeros(1)
    for rnd in range(1, ROUNDS + 1):
        t = time.time()
        for server_end, _ in pairs:
            server_end.send((coef, intercept))
        got = [server_end.recv() for server_end, _ in pairs]
        n = sum(g[2] for g in got)
        coef = sum(g[0] * g[2] for g in got) / n
        intercept = sum(g[1] * g[2] for g in got) / n
        z = np.clip(Xv @ coef[0] + intercept[0], -30, 30)
        p = 1 / (1 + np.exp(-z))
        loss = -np.mean(yv * np.log(p + 1e-9) + (1 - yv) * np.log(1 - p + 1e-9))
        log.info("round %d/%d  wards %d/%d  val_loss %.4f  val_acc %.4f  (%.2fs)", rnd, ROUNDS, len(got), N_WARDS,
                 loss, np.mean((p > 0.5) == yv), time.time() - t)
        if rnd % 20 == 0:
            np.savez(f"ckpt/global_{rnd:04d}.npz", coef=coef, intercept=intercept, round=rnd)
            log.info("saved ckpt/global_%04d.npz", rnd)
    for server_end, _ in pairs:
        server_end.send(None)
    log.info("done, final model in ckpt/")


if __name__ == "__main__":
    mp.set_start_method("fork")
    main()
