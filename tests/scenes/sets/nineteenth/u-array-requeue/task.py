import os, pickle, signal, sys, time
import numpy as np
i = int(sys.argv[1]); flag = []
signal.signal(signal.SIGUSR1, lambda *_: flag.append(1))
rng = np.random.default_rng(i); X = rng.normal(size=(200, 12)); y = np.tanh(X @ rng.normal(size=12)); f = f"task{i}.pkl"; s0, w = 0, np.zeros(12)
if os.path.exists(f): s0, w = pickle.load(open(f, "rb")); print("restored at step", s0)
for s in range(s0 + 1, 81):
    z = np.tanh(X @ w); w -= .1 * X.T @ ((z - y) * (1 - z ** 2)) / 200; time.sleep(.13)
    if s % 10 == 0: print(f"task {i} step {s} loss {((z - y) ** 2).mean():.5f}")
    if flag: pickle.dump((s, w), open(f, "wb")); print(f"caught SIGUSR1, state saved at step {s}"); sys.exit(99)
pickle.dump((s, w), open(f, "wb")); print("task complete")
