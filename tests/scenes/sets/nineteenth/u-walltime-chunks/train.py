import argparse, os, pickle, sys, time
import numpy as np
p = argparse.ArgumentParser(); p.add_argument("--slice", type=float); p.add_argument("--total", type=int); p.add_argument("--state")
a = p.parse_args(); t0 = time.time(); rng = np.random.default_rng()
W1, W2, step = np.random.default_rng(0).normal(size=(8, 32)) / 3, np.zeros(32), 0
if os.path.exists(a.state):
    W1, W2, step = pickle.load(open(a.state, "rb"))
    print(f"resuming from step {step}")
else:
    print("no state found, starting from scratch")
def save():
    with open(a.state + ".new", "wb") as f: pickle.dump((W1, W2, step), f)
    os.replace(a.state + ".new", a.state)
while step < a.total:
    x = rng.normal(size=(256, 8)); y = np.sin(2 * x[:, 0]) - x[:, 1]
    h = np.tanh(x @ W1); e = h @ W2 - y
    g2 = h.T @ e / 256; g1 = x.T @ (np.outer(e, W2) * (1 - h ** 2)) / 256
    W1 = W1 - .1 * g1; W2 = W2 - .1 * g2; step += 1
    time.sleep(0.12)
    if step % 5 == 0: print(f"step {step} loss {(e ** 2).mean():.5f} lr 1.0e-01")
    if time.time() - t0 > a.slice and step < a.total:
        save(); print(f"slice of {a.slice:.0f} s is over at step {step}: saved, exiting for requeue"); sys.exit(75)
save(); print(f"reached {step} steps, training finished")
