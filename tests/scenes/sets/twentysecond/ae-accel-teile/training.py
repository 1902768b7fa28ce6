"""Zeichenmodell über gepackte JSON-Zeilen (teile/teil-*.jsonl.gz), ein Teil nach dem anderen."""
import glob
import gzip
import json
import time

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

torch.set_num_threads(1)


class Teile(IterableDataset):
    def __iter__(self):
        for pfad in sorted(glob.glob("teile/teil-*.jsonl.gz")):
            print(f"öffne {pfad}", flush=True)
            with gzip.open(pfad, "rt") as f:
                for zeile in f:
                    s = json.loads(zeile)["text"].encode()[:64].ljust(64)
                    yield torch.tensor(list(s))


class Modell(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(256, 48)
        self.r = nn.LSTM(48, 96, batch_first=True)
        self.o = nn.Linear(96, 256)

    def forward(self, x):
        return self.o(self.r(self.e(x))[0])


acc = Accelerator(cpu=True)
modell = Modell()
opt = torch.optim.AdamW(modell.parameters(), lr=3e-3)
modell, opt, lader = acc.prepare(modell, opt, DataLoader(Teile(), batch_size=8))
schritt = 0
for epoche in range(3):
    for x in lader:
        with acc.accumulate(modell):
            verlust = nn.functional.cross_entropy(modell(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
            acc.backward(verlust)
            acc.clip_grad_norm_(modell.parameters(), 1.0)
            opt.step()
            opt.zero_grad()
        schritt += 1
        time.sleep(0.28)
        if schritt % 10 == 0:
            acc.print(f"Epoche {epoche} Schritt {schritt} Verlust {verlust.item():.4f}", flush=True)
        if schritt % 50 == 0:
            acc.save(acc.unwrap_model(modell).state_dict(), "stand.pt")
            acc.print(f"Stand gesichert (Schritt {schritt})", flush=True)
