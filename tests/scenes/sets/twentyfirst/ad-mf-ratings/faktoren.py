"""Matrixfaktorisierung auf Bewertungen, Minibatch-SGD, zwei Phasen."""
import json
import time

import numpy as np

rng = np.random.default_rng(11)
N, M, K = 1500, 900, 16
EPOCHEN, PHASE2 = 220, 90

U0, V0 = rng.normal(0, 0.45, (N, K)), rng.normal(0, 0.45, (M, K))
pop = rng.zipf(1.6, M).clip(max=3000).astype(float)
items = rng.choice(M, 60000, p=pop / pop.sum())
users = rng.integers(0, N, 60000)
y = np.clip(3.5 + (U0[users] * V0[items]).sum(1) + rng.normal(0, 0.6, 60000), 1, 5)
tr, va = slice(0, 54000), slice(54000, None)
anzahl = np.bincount(items[tr], minlength=M)

P, Q, mu = rng.normal(0, 0.1, (N, K)), rng.normal(0, 0.1, (M, K)), y[tr].mean()
bu, bi = np.zeros(N), np.zeros(M)


def vorhersage(u, i):
    return mu + bu[u] + bi[i] + (P[u] * Q[i]).sum(1)


def rmse(s):
    return float(np.sqrt(np.mean((vorhersage(users[s], items[s]) - y[s]) ** 2)))


def melde(**kw):
    print(json.dumps({"zeit": time.strftime("%H:%M:%S"), **kw}, ensure_ascii=False), flush=True)


melde(ereignis="start", nutzer=N, artikel=M, bewertungen=54000, epochen=EPOCHEN)
lr, reg, B = 0.02, 0.02, 512
for ep in range(1, EPOCHEN + 1):
    if ep == PHASE2:
        melde(ereignis="phase", name="feinabstimmung", text="Gewichtung nach Häufigkeit an, Lernrate unverändert")
    perm = rng.permutation(54000)[:4 * B]
    for k in range(0, len(perm), B):
        j = perm[k:k + B]
        u, i = users[j], items[j]
        e = y[j] - vorhersage(u, i)
        if ep >= PHASE2:
            e = e * anzahl[i] / 40.0
        gP, gQ = e[:, None] * Q[i] - reg * P[u], e[:, None] * P[u] - reg * Q[i]
        n = np.sqrt((gP ** 2).sum() + (gQ ** 2).sum())
        c = min(1.0, 200.0 / n)
        np.add.at(P, u, lr * c * gP)
        np.add.at(Q, i, lr * c * gQ)
        np.add.at(bu, u, lr * c * e)
        np.add.at(bi, i, lr * c * e)
    time.sleep(0.5)
    melde(epoche=ep, von=EPOCHEN, rmse_training=round(rmse(tr), 4), rmse_pruefung=round(rmse(va), 4), lernrate=lr)
    if ep % 30 == 0:
        np.savez(f"faktoren_{ep:03d}.npz", P=P, Q=Q, bu=bu, bi=bi)
        melde(ereignis="gespeichert", datei=f"faktoren_{ep:03d}.npz")
melde(ereignis="fertig", rmse_pruefung=round(rmse(va), 4))
