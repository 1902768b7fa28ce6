"""Prévision de la consommation électrique par LSTM."""
import logging
import os
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

logging.basicConfig(format="%(asctime)s [%(levelname)s] %(message)s", datefmt="%d/%m/%Y %H:%M:%S", level=logging.INFO)
log = logging.getLogger()
PAUSE = float(os.environ.get("PAUSE", "0.35"))
torch.set_num_threads(1)
torch.manual_seed(12)
EPOQUES, LOTS = 22, 18

if not os.path.exists("volume/mesures.npy"):
    t = np.arange(2_300_000, dtype="float32")
    bruit = np.random.default_rng(1).normal(0, 0.35, t.size).astype("float32")
    np.save("volume/mesures.npy", np.sin(2 * np.pi * t / 24) + 0.4 * np.sin(2 * np.pi * t / 168) + bruit)
serie = np.load("volume/mesures.npy", mmap_mode="r")


def lot(n, debut, fin):
    k = np.random.randint(debut, fin - 73, n)
    w = torch.tensor(np.stack([serie[i:i + 73] for i in k]))
    return w[:, :72].unsqueeze(2), w[:, 72:]


class Modele(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.tete = nn.LSTM(1, 48, batch_first=True), nn.Linear(48, 1)

    def forward(self, x):
        return self.tete(self.lstm(x)[0][:, -1])


np.random.seed(3)
modele = Modele()
opt = torch.optim.Adam(modele.parameters(), 6e-3)
plan = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=2)
vx, vy = lot(400, 3000, 6000)
# peu d'historique pour l'apprentissage : trois mois
meilleur, libre = float("inf"), os.statvfs("volume")
log.info("volume : %.1f Mo libres sur %.1f Mo", libre.f_bavail * libre.f_frsize / 1e6, libre.f_blocks * libre.f_frsize / 1e6)
for epoque in range(1, EPOQUES + 1):
    modele.train()
    for i in range(1, LOTS + 1):
        x, y = lot(64, 0, 2200)
        perte = F.mse_loss(modele(x), y)
        opt.zero_grad()
        perte.backward()
        nn.utils.clip_grad_norm_(modele.parameters(), 1.0)
        opt.step()
        time.sleep(PAUSE)
        if i % 2 == 0:
            log.info("époque %d/%d lot %d/%d perte %.4f", epoque, EPOQUES, i, LOTS, perte.item())
    modele.eval()
    with torch.no_grad():
        val = F.mse_loss(modele(vx), vy).item()
    plan.step(val)
    etat = {"modele": modele.state_dict(), "opt": opt.state_dict(), "epoque": epoque}
    torch.save(etat, "volume/dernier.pt.tmp")
    os.replace("volume/dernier.pt.tmp", "volume/dernier.pt")
    if val < meilleur:
        meilleur = val
        torch.save(etat, "volume/meilleur.pt")
    log.info("époque %d terminée : perte_val %.4f (meilleure %.4f), pas %.1e", epoque, val, meilleur, opt.param_groups[0]["lr"])
log.info("terminé, meilleure perte_val %.4f", meilleur)
