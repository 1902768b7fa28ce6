# débruitage de la parole, petit réseau convolutif 1-D
import os
import signal
import time

import numpy as np
import torch
import torch.nn as nn

PACE = float(os.environ.get("PACE", 0.45))
torch.manual_seed(7)
torch.set_num_threads(1)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
open("pid", "w").write(str(os.getpid()))
r = np.random.default_rng(7)
t = np.arange(512) / 8000


def lot(n):
    f0 = r.uniform(90, 260, (n, 1))
    propre = sum(np.sin(2 * np.pi * f0 * k * t + r.uniform(0, 6, (n, 1))) / k for k in (1, 2, 3, 4)) * 0.3
    sale = propre + r.normal(0, 0.25, propre.shape)
    return torch.tensor(sale, dtype=torch.float32)[:, None], torch.tensor(propre, dtype=torch.float32)[:, None]


reseau = nn.Sequential(nn.Conv1d(1, 16, 15, padding=7), nn.PReLU(), nn.Conv1d(16, 16, 15, padding=7), nn.PReLU(), nn.Conv1d(16, 1, 15, padding=7))
opt = torch.optim.Adam(reseau.parameters(), 1.5e-4)
print("Début de l'entraînement : 40 époques de 20 lots", flush=True)
for epoque in range(1, 41):
    somme = 0.0
    for i in range(1, 21):
        x, y = lot(16)
        perte = nn.functional.l1_loss(reseau(x), y)
        opt.zero_grad()
        perte.backward()
        opt.step()
        somme += perte.item()
        time.sleep(PACE)
        print(f"époque {epoque}/40 lot {i}/20 perte {perte.item():.5f}", flush=True)
    print(f"époque {epoque} terminée, perte moyenne {somme / 20:.5f}", flush=True)
    torch.save(reseau.state_dict(), "debruiteur.pt")
print("Entraînement terminé", flush=True)
