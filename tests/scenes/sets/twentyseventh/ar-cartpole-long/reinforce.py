"""REINFORCE on the cart-pole, numpy only. The physics run in (scaled) real time, as on the rig."""
import os
import time

import numpy as np

STEP_S = float(os.environ.get("STEP_S", 0.0045))
PACE = float(os.environ.get("PACE", 0.3))
rng = np.random.default_rng(2)
N, LIMIT = 6, 300


def physics(s, a):
    x, v, th, w = s.T
    f = np.where(a == 1, 10.0, -10.0)
    t = (f + 0.05 * w ** 2 * np.sin(th)) / 1.1
    acc = (9.8 * np.sin(th) - np.cos(th) * t) / (0.5 * (4 / 3 - 0.1 * np.cos(th) ** 2 / 1.1))
    xa = t - 0.05 * acc * np.cos(th) / 1.1
    return np.stack([x + 0.02 * v, v + 0.02 * xa, th + 0.02 * w, w + 0.02 * acc], 1)


W1, W2 = rng.normal(0, 0.5, (4, 16)), np.zeros((16, 2))
m = [np.zeros_like(W1), np.zeros_like(W2)]
q = [np.zeros_like(W1), np.zeros_like(W2)]
print("update,mean_len,max_len,policy_loss,entropy,wall_s", flush=True)
for up in range(1, 136):
    t0 = time.time()
    s, alive = rng.uniform(-0.05, 0.05, (N, 4)), np.ones(N, bool)
    S, A, M = [], [], []
    for t in range(LIMIT):
        h = np.tanh(s @ W1)
        z = h @ W2
        p1 = 1 / (1 + np.exp(z[:, 0] - z[:, 1]))
        a = (rng.random(N) < p1).astype(int)
        S.append(s)
        A.append(a)
        M.append(alive.copy())
        s = physics(s, a)
        alive &= (np.abs(s[:, 0]) < 2.4) & (np.abs(s[:, 2]) < 0.21)
        time.sleep(STEP_S)
        if not alive.any():
            break
    S, A, M = np.stack(S), np.stack(A), np.stack(M)
    R = np.zeros(M.shape)
    g = np.zeros(N)
    for t in reversed(range(len(M))):
        g = M[t] + 0.99 * g * M[t]
        R[t] = g
    base = (R * M).sum(1, keepdims=True) / np.maximum(M.sum(1, keepdims=True), 1)
    adv = (R - base) * M
    adv /= adv.std() + 1e-8
    H = np.tanh(S @ W1)
    Z = H @ W2
    P1 = 1 / (1 + np.exp(Z[..., 0] - Z[..., 1]))
    pa = np.where(A == 1, P1, 1 - P1)
    n = M.sum()
    loss = -(np.log(pa + 1e-9) * R * M).sum() / n
    ent = -((P1 * np.log(P1 + 1e-9) + (1 - P1) * np.log(1 - P1 + 1e-9)) * M).sum() / n
    dz1 = (P1 - A) * adv / n
    dZ = np.stack([-dz1, dz1], -1)
    gW2 = np.einsum("tnh,tnk->hk", H, dZ)
    gW1 = np.einsum("tnd,tnh->dh", S, (dZ @ W2.T) * (1 - H ** 2))
    for W, G, a1, a2 in ((W1, gW1, m[0], q[0]), (W2, gW2, m[1], q[1])):
        a1 += 0.1 * (G - a1)
        a2 += 0.01 * (G ** 2 - a2)
        W -= 0.008 * (a1 / (1 - 0.9 ** up)) / (np.sqrt(a2 / (1 - 0.99 ** up)) + 1e-8)
    length = M.sum(0)
    time.sleep(PACE)
    print(f"{up},{length.mean():.1f},{length.max()},{loss:.4f},{ent:.4f},{time.time() - t0:.2f}", flush=True)
np.savez("policy.npz", W1=W1, W2=W2)
