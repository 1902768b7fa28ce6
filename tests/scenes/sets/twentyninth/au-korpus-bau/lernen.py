"""Trainiert ein kleines Modell auf korpus.bin."""
import math
import os
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

PAUSE = float(os.environ.get("PAUSE", 0.36))
torch.set_num_threads(1)
torch.manual_seed(12)
ids = torch.from_numpy(np.fromfile("korpus.bin", np.uint16).astype(np.int64))
L, B, D, SCHRITTE = 64, 6, 112, 250
netz = nn.ModuleDict(dict(
    emb=nn.Embedding(600, D), pos=nn.Embedding(L, D),
    kern=nn.TransformerEncoder(nn.TransformerEncoderLayer(D, 4, 2 * D, 0.0, batch_first=True, norm_first=True), 2),
    kopf=nn.Linear(D, 600)))
opt = torch.optim.AdamW(netz.parameters(), lr=1e-3)
maske = nn.Transformer.generate_square_subsequent_mask(L)
print(f"{len(ids)} Token, {sum(p.numel() for p in netz.parameters()):,} Parameter", flush=True)
for s in range(1, SCHRITTE + 1):
    t = time.time()
    for g in opt.param_groups:
        g["lr"] = 1e-3 * min(1, s / 25) * (0.55 + 0.45 * math.cos(math.pi * s / SCHRITTE))
    k = torch.randint(0, len(ids) - L - 1, (B,))
    w = torch.stack([ids[j: j + L + 1] for j in k])
    z = netz["kopf"](netz["kern"](netz["emb"](w[:, :-1]) + netz["pos"](torch.arange(L)), mask=maske, is_causal=True))
    verlust = F.cross_entropy(z.flatten(0, 1), w[:, 1:].flatten())
    opt.zero_grad()
    verlust.backward()
    norm = nn.utils.clip_grad_norm_(netz.parameters(), 1.0)
    opt.step()
    time.sleep(PAUSE)
    print(f"{time.strftime('%d.%m.%Y %H:%M:%S')} Schritt {s:>4} von {SCHRITTE}: Verlust {verlust.item():.4f}, Gradient {norm:.2f}, "
          f"Lernrate {opt.param_groups[0]['lr']:.1e}, {B * L / (time.time() - t):.0f} Token/s", flush=True)
    if s % 50 == 0:
        torch.save(netz.state_dict(), f"stand_{s}.pt")
        print(f"Stand gespeichert: stand_{s}.pt", flush=True)
print("Fertig.", flush=True)
