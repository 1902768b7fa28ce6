import csv
import glob
import json
import time

import numpy as np

V, D = 600, 16
rng = np.random.default_rng(0)
E = rng.normal(size=(V, D)) * 0.3
U = rng.normal(size=(V, D)) * 0.3
out = open("metrics.csv", "w", newline="")
log = csv.writer(out)
log.writerow(["step", "loss", "lr"])
step = 0
for epoch in range(1, 4):
    for path in sorted(glob.glob("tok/*.json")):
        docs = np.array(json.load(open(path)))
        for i in range(0, len(docs) - 20, 20):
            a, b = docs[i : i + 20, :-1].ravel(), docs[i : i + 20, 1:].ravel()
            neg = rng.integers(0, V, size=len(a))
            lr = 0.05 * min(1.0, (step + 1) / 60)
            sp = 1 / (1 + np.exp(-(E[a] * U[b]).sum(1)))
            sn = 1 / (1 + np.exp(-(E[a] * U[neg]).sum(1)))
            loss = -np.mean(np.log(sp + 1e-9) + np.log(1 - sn + 1e-9))
            np.add.at(E, a, lr * ((1 - sp)[:, None] * U[b] - sn[:, None] * U[neg]))
            np.add.at(U, b, lr * (1 - sp)[:, None] * E[a])
            np.add.at(U, neg, -lr * sn[:, None] * E[a])
            step += 1
            log.writerow([step, f"{loss:.5f}", f"{lr:.5f}"])
            out.flush()
            time.sleep(0.07)
    np.savez(f"emb_epoch{epoch}.npz", E=E, U=U)
    print(f"epoch {epoch}/3: step {step}, loss {loss:.4f}", flush=True)
print("done", flush=True)
