"""Erkenner für Kommandowörter: GRU über Log-Energien, je Äußerung auf Mittel 0 und Varianz 1 gebracht."""
import logging
import os
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn

TAKT = float(os.environ.get("PACE", "0.6"))
torch.set_num_threads(1)
torch.manual_seed(5)
logging.basicConfig(filename="training.log", level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", datefmt="%d.%m.%Y %H:%M:%S")
log = logging.getLogger("erkenner")


class Erkenner(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(20, 64, batch_first=True)
        self.aus = nn.Linear(64, 12)

    def forward(self, x):
        return self.aus(self.gru(x)[0].mean(1))


def normiert(x):
    return (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True)


netz = Erkenner()
opt = torch.optim.Adam(netz.parameters(), 2e-3)
verlustfn = nn.CrossEntropyLoss()
dateien = sorted(Path("shards").glob("*.npz"))
log.info("%d Dateien, %d Parameter", len(dateien), sum(p.numel() for p in netz.parameters()))
schritt = 0
for epoche in range(1, 6):
    for datei in dateien:
        d = np.load(datei)
        for a in range(0, 40, 4):
            x, y = torch.from_numpy(d["x"][a:a + 4]), torch.from_numpy(d["y"][a:a + 4])
            logits = netz(normiert(x))
            verlust = verlustfn(logits, y)
            opt.zero_grad()
            verlust.backward()
            norm = nn.utils.clip_grad_norm_(netz.parameters(), 1.0)
            opt.step()
            schritt += 1
            time.sleep(TAKT)
            treffer = (logits.argmax(1) == y).float().mean().item()
            log.info("Epoche %d Schritt %d Verlust %.4f Treffer %.2f Gradientennorm %.3f", epoche, schritt, verlust.item(), treffer, norm.item())
        if schritt % 50 == 0:
            torch.save(netz.state_dict(), "erkenner.pt")
            log.info("Stand gesichert: erkenner.pt (bis %s)", datei.name)
