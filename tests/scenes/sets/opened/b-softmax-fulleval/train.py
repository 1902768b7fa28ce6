import logging
import multiprocessing as mp
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s",
                    datefmt="%Y-%m-%d %H:%M:%S")
log = logging.getLogger("trainer")
rng = np.random.default_rng(3)
DIM, CLASSES, STEPS = 64, 10, 300


def scores(w, x):
    z = x @ w
    z -= z.max(1, keepdims=True)
    e = np.exp(z)
    return e / e.sum(1, keepdims=True)


def eval_worker(k, w, x, y, out):
    time.sleep(1.5)                              # augmentation at test time
    p = scores(w, x)
    out.put((k, p, float((p.argmax(1) == y).mean())))


def evaluate(w, x, y, workers=2):
    """Score in worker processes, give back accuracy and all probabilities."""
    out = mp.Queue()
    xs, ys = np.array_split(x, workers), np.array_split(y, workers)
    procs = [mp.Process(target=eval_worker, args=(k, w, xs[k], ys[k], out), daemon=True) for k in range(workers)]
    for p in procs:
        p.start()
    for p in procs:
        p.join()
    parts = sorted((out.get() for _ in procs), key=lambda r: r[0])
    return float(np.mean([r[2] for r in parts])), np.concatenate([r[1] for r in parts])


def main():
    teacher = rng.normal(size=(DIM, CLASSES))
    x_val = rng.normal(size=(40000, DIM))
    y_val = (x_val @ teacher).argmax(1)
    w = np.zeros((DIM, CLASSES))
    log.info("start: %d steps, quick eval every 40, full eval every 120", STEPS)
    for step in range(1, STEPS + 1):
        x = rng.normal(size=(256, DIM))
        y = (x @ teacher).argmax(1)
        p = scores(w, x)
        loss = -np.log(p[np.arange(256), y] + 1e-9).mean()
        p[np.arange(256), y] -= 1
        w -= 0.5 * (x.T @ p) / 256
        time.sleep(0.2)
        if step % 10 == 0:
            log.info("step %d/%d loss %.4f", step, STEPS, loss)
        if step % 120 == 0:
            log.info("full evaluation on %d samples", len(x_val))
            acc, probs = evaluate(w, x_val, y_val)
            np.save("probs.npy", probs)
            log.info("full eval: acc %.4f", acc)
        elif step % 40 == 0:
            log.info("quick evaluation on 400 samples")
            acc, _ = evaluate(w, x_val[:400], y_val[:400])
            log.info("quick eval: acc %.4f", acc)
    log.info("done")


if __name__ == "__main__":
    mp.set_start_method("fork")
    main()
