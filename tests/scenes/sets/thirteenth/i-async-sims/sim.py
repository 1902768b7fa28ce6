"""Worker: integrates a driven pendulum chain and sends the trajectories to the learner."""
import logging
import time

import numpy as np


def integrate(theta, omega, drive, n=200, dt=0.02):
    path = []
    for _ in range(n):
        lap = np.roll(theta, 1) + np.roll(theta, -1) - 2 * theta
        omega = omega + dt * (-np.sin(theta) + 0.5 * lap - 0.1 * omega + drive)
        theta = theta + dt * omega
        path.append(np.concatenate([theta, omega]))
    return np.array(path, np.float32)


def worker(rank, tasks, results):
    log = logging.getLogger(f"sim-{rank}")
    cache = {}
    while True:
        task = tasks.get()
        if task is None:
            return
        rng = np.random.default_rng(task["seed"])
        key = round(task["drive"], 2)
        if key in cache:
            theta, omega = cache[key]
        else:
            theta, omega = rng.normal(size=8), np.zeros(8)
        if task["burn_in"]:
            theta, omega = np.split(integrate(theta, omega, task["drive"])[-1], 2)
            cache[key] = theta, omega
        elif key not in cache:
            theta, omega = cache[next(k for k in cache if abs(k - key) < 0.25)]
        time.sleep(0.8)
        results.put((rank, integrate(theta, omega, task["drive"])))
        log.debug("task %s done", task["seed"])
