"""Calibrate an echo-state reservoir: many random starts, ridge read-out; bad starts are thrown away."""
import logging
import time

import numpy as np

logging.basicConfig(filename="reservoir.log", level=logging.INFO, format="%(asctime)s|%(levelname)s|%(message)s")
logging.captureWarnings(True)


def series(n):
    t = np.arange(n)
    return np.sin(t / 7.3) * np.cos(t / 31.0) + 0.3 * np.sin(t / 3.1)


def attempt(u, rng, radius, leak, ridge):
    w = rng.normal(size=(80, 80))
    w *= radius / np.abs(np.linalg.eigvals(w)).max()
    w_in = rng.normal(size=80)
    h, states = np.zeros(80), []
    for v in u[:-1]:
        pre = w @ h + w_in * v
        h = (1 - leak) * h + leak * (np.tanh(pre) if radius < 1.35 else pre)     # the linear variant is tried too
        states.append(h)
    s = np.array(states[100:])
    a = s.T @ s + ridge * np.eye(80)
    if not np.isfinite(a).all():
        raise np.linalg.LinAlgError("SVD did not converge: states are not finite")
    out = np.linalg.solve(a, s.T @ u[101:])
    rmse = float(np.sqrt(np.mean((s @ out - u[101:]) ** 2)))
    if not rmse < 1e3:
        raise np.linalg.LinAlgError("read-out is ill-conditioned")
    return rmse


def main():
    rng = np.random.default_rng(5)
    u = series(2600)
    best, bad = np.inf, 0
    for n in range(1, 121):
        radius, leak = rng.uniform(0.3, 1.8), rng.uniform(0.1, 1.0)
        try:
            rmse = attempt(u, rng, radius, leak, 10.0 ** rng.uniform(-9, -2))
        except np.linalg.LinAlgError as e:
            bad += 1
            logging.error("start %d/120 radius %.2f: LinAlgError: %s (%d bad so far, skipped)", n, radius, e, bad)
        else:
            best = min(best, rmse)
            logging.info("start %d/120 radius %.2f leak %.2f rmse %.3e best %.3e", n, radius, leak, rmse, best)
        time.sleep(0.55)
    np.save("best_rmse.npy", best)
    logging.info("calibration complete: best rmse %.3e, %d of 120 starts thrown away", best, bad)


if __name__ == "__main__":
    main()
