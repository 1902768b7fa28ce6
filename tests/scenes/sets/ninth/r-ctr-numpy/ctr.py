"""Click model in numpy: two layers, momentum SGD. Metrics go to logs/run.log and logs/metrics.csv."""
import csv
import os
import time
from dataclasses import dataclass

import numpy as np


@dataclass
class Config:
    features: int = 64
    hidden: int = 32
    batch: int = 128
    base_lr: float = 0.05
    cycle: int = 400          # steps, then a warm restart
    gain: float = 20.0        # of the rate from cycle to cycle
    clip: float = 5.0
    momentum: float = 0.9
    steps: int = 4000
    log_every: int = 10


def schedule(cfg, step):
    cycle, at = divmod(step, cfg.cycle)
    return cfg.base_lr * cfg.gain ** cycle * (0.55 + 0.45 * np.cos(np.pi * at / cfg.cycle))


class Net:
    def __init__(self, cfg, rng):
        self.p = [rng.normal(0, 0.1, (cfg.features, cfg.hidden)), np.zeros(cfg.hidden),
                  rng.normal(0, 0.1, (cfg.hidden, 1)), np.zeros(1)]
        self.v = [np.zeros_like(a) for a in self.p]

    def step(self, x, y, lr, mu, clip):
        w1, b1, w2, b2 = self.p
        h = np.maximum(x @ w1 + b1, 0)
        e = h @ w2 + b2 - y
        loss = float(np.mean(e ** 2))
        g = 2 * e / len(x)
        gh = (g @ w2.T) * (h > 0)
        grads = [x.T @ gh, gh.sum(0), h.T @ g, g.sum(0)]
        norm = np.sqrt(sum((d ** 2).sum() for d in grads))
        scale = min(1.0, clip / (norm + 1e-9))
        for p, v, d in zip(self.p, self.v, grads):
            v *= mu
            v -= lr * scale * d
            p += v
        return loss


def main():
    cfg = Config()
    rng = np.random.default_rng(3)
    truth = rng.normal(size=(cfg.features, 1)) / 6
    net = Net(cfg, rng)
    os.makedirs("logs", exist_ok=True)
    log = open("logs/run.log", "a", buffering=1)
    out = open("logs/metrics.csv", "w", buffering=1, newline="")
    table = csv.writer(out)
    table.writerow(["step", "loss", "lr"])
    print(f"{time.ctime()} start {cfg}", file=log)
    mean = []
    for step in range(1, cfg.steps + 1):
        x = rng.normal(size=(cfg.batch, cfg.features))
        y = np.tanh(x @ truth) + rng.normal(0, 0.3, (cfg.batch, 1))
        lr = schedule(cfg, step)
        mean.append(net.step(x, y, lr, cfg.momentum, cfg.clip))
        time.sleep(0.06)
        if step % cfg.log_every == 0:
            loss = float(np.mean(mean))
            mean.clear()
            print(f"{time.ctime()} step={step} train_loss={loss:.5g} lr={lr:.4f}", file=log)
            table.writerow([step, loss, lr])
        if step % 500 == 0:
            np.savez("logs/weights.npz", *net.p)
            print(f"{time.ctime()} weights saved", file=log)


if __name__ == "__main__":
    main()
