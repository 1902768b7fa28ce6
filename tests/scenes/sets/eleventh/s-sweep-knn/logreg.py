import argparse
import time

import numpy as np

p = argparse.ArgumentParser()
p.add_argument("--lr", type=float)
p.add_argument("--wd", type=float)
p.add_argument("--out")
a = p.parse_args()
rng = np.random.default_rng(0)
k, d = 4, 30
means = rng.normal(size=(k, d)) * 0.5


def draw(n):
    y = rng.integers(k, size=n)
    return means[y] + rng.normal(size=(n, d)), y


vx, vy = draw(1000)
w, b = np.zeros((d, k)), np.zeros(k)


def soft(x):
    z = x @ w + b
    z -= z.max(1, keepdims=True)
    e = np.exp(z)
    return e / e.sum(1, keepdims=True)


with open(a.out, "w") as f:
    for step in range(1, 41):
        x, y = draw(128)
        q = soft(x)
        loss = -np.log(q[np.arange(len(y)), y]).mean()
        g = (q - np.eye(k)[y]) / len(y)
        w -= a.lr * (x.T @ g + a.wd * w)
        b -= a.lr * g.sum(0)
        time.sleep(0.25)
        if step % 10 == 0:
            v = soft(vx)
            vl, va = -np.log(v[np.arange(len(vy)), vy]).mean(), (v.argmax(1) == vy).mean()
            f.write(f"{step},{loss:.4f},{vl:.4f},{va:.4f}\n")
            print(f"[lr={a.lr:g} wd={a.wd:g}] step {step}/40 loss={loss:.4f} val_loss={vl:.4f} val_acc={va:.4f}")
