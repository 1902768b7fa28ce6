"""Vortraining auf zwei Rängen (gloo). Auf dem Band liegen die Daten; ein Stand bleibt, der alte geht erst, wenn der neue steht."""
import os
import shutil
import time

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rang = dist.get_rank()
torch.set_num_threads(1)
torch.manual_seed(0)
PAUSE = float(os.environ.get("PAUSE", 0.4))
SCHRITTE, ALLE = 330, 15


class Netz(nn.Module):
    def __init__(self, v=64, d=96):
        super().__init__()
        self.tok, self.pos = nn.Embedding(v, d), nn.Embedding(32, d)
        schicht = nn.TransformerEncoderLayer(d, 4, 4 * d, 0.0, batch_first=True, norm_first=True)
        self.rumpf = nn.TransformerEncoder(schicht, 3, enable_nested_tensor=False)
        self.kopf = nn.Linear(d, v)

    def forward(self, x):
        m = nn.Transformer.generate_square_subsequent_mask(x.size(1))
        return self.kopf(self.rumpf(self.tok(x) + self.pos.weight[: x.size(1)], mask=m))


def sage(was):
    if rang == 0:
        print(time.strftime("%d.%m. %H:%M:%S"), was, flush=True)


daten = np.memmap("band/tokens.bin", np.uint8, "r").reshape(-1, 32)
netz = DDP(Netz())
opt = torch.optim.AdamW(netz.parameters(), lr=1e-3)
wuerfel = np.random.default_rng(rang)
for schritt in range(1, SCHRITTE + 1):
    x = torch.from_numpy(daten[wuerfel.integers(0, len(daten), 4)].astype(np.int64))
    verlust = F.cross_entropy(netz(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
    opt.zero_grad(set_to_none=True)
    verlust.backward()
    nn.utils.clip_grad_norm_(netz.parameters(), 1.0)
    opt.step()
    time.sleep(PAUSE)
    sage(f"Schritt {schritt}/{SCHRITTE}  Verlust {verlust.item():.4f}")
    if schritt % ALLE == 0:
        if rang == 0:
            neu = f"band/stand_{schritt:05d}.pt"
            torch.save({"netz": netz.module.state_dict(), "opt": opt.state_dict(), "schritt": schritt}, neu + ".teil")
            os.replace(neu + ".teil", neu)
            alt = f"band/stand_{schritt - ALLE:05d}.pt"
            frei = shutil.disk_usage("band").free / 2**20
            sage(f"{neu} geschrieben, noch {frei:.1f} MB frei")
            if os.path.exists(alt):
                os.remove(alt)
                sage(f"{alt} gelöscht, wieder {shutil.disk_usage('band').free / 2**20:.1f} MB frei")
        dist.barrier()
sage("fertig")
dist.destroy_process_group()
