"""DQN: una capsula a una dimensione deve attraccare alla stazione (spinta sinistra, nulla, destra)."""
import os
import random
import time
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

PAUSA = float(os.environ.get("PAUSA", "0.5"))
torch.set_num_threads(1)
torch.manual_seed(4)
random.seed(4)
rng = np.random.default_rng(4)


class Capsula:
    def reset(self):
        self.x, self.v, self.t = rng.uniform(-1, 1), 0.0, 0
        return self.stato()

    def stato(self):
        return np.array([self.x, self.v * 5], np.float32)

    def step(self, a):
        self.v = float(np.clip(self.v + (a - 1) * 0.02, -0.2, 0.2))
        self.x += self.v
        self.t += 1
        if abs(self.x) > 1.6:
            return self.stato(), -10.0, True
        if abs(self.x) < 0.06 and abs(self.v) < 0.03:
            return self.stato(), 20.0, True
        return self.stato(), -0.1, self.t >= 80


q = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))
bersaglio = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))
bersaglio.load_state_dict(q.state_dict())
opt = torch.optim.Adam(q.parameters(), 1e-3)
memoria = deque(maxlen=20000)
env, passi, eps = Capsula(), 0, 1.0


def impara():
    s, a, r, s2, f = map(np.array, zip(*random.sample(memoria, 64)))
    s, s2 = torch.from_numpy(s), torch.from_numpy(s2)
    with torch.no_grad():
        y = torch.from_numpy(r).float() + 0.98 * bersaglio(s2).max(1).values * torch.from_numpy(1.0 - f).float()
    p = q(s).gather(1, torch.from_numpy(a)[:, None])[:, 0]
    td = F.mse_loss(p, y)
    opt.zero_grad()
    td.backward()
    nn.utils.clip_grad_norm_(q.parameters(), 10)
    opt.step()
    return td.item(), p.mean().item()


def prova(n):
    tot = 0.0
    for _ in range(n):
        s, fine = env.reset(), False
        while not fine:
            s, r, fine = env.step(int(q(torch.from_numpy(s)).argmax()))
            tot += r
        time.sleep(PAUSA * 1.4)
    return tot / n


for episodio in range(1, 241):
    s, fine, ritorno, td, qm = env.reset(), False, 0.0, [], []
    while not fine:
        a = rng.integers(3) if rng.random() < eps else int(q(torch.from_numpy(s)).argmax())
        s2, r, fine = env.step(int(a))
        memoria.append((s, int(a), r, s2, fine and env.t < 80))
        s, ritorno, passi = s2, ritorno + r, passi + 1
        if len(memoria) > 400 and passi % 2 == 0:
            e, m = impara()
            td.append(e)
            qm.append(m)
        if passi % 300 == 0:
            bersaglio.load_state_dict(q.state_dict())
    eps = max(0.05, eps * 0.985)
    print(f"episodio {episodio:3d} ritorno {ritorno:7.2f} eps {eps:.2f} "
          f"td_loss {np.mean(td) if td else 0:.4f} q_medio {np.mean(qm) if qm else 0:.2f}", flush=True)
    if episodio % 60 == 0:
        print("valutazione su 20 episodi ...", flush=True)
        print(f"valutazione: ritorno medio {prova(20):.2f}", flush=True)
        torch.save(q.state_dict(), "dqn.pt")
    time.sleep(PAUSA)
print("addestramento finito", flush=True)
