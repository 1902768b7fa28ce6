import os
import pathlib
import time

import numpy as np
import torch
import torch.nn as nn

PACE = float(os.environ.get("PACE", 0.4))
torch.manual_seed(0)
torch.set_num_threads(1)
arquivos = sorted(pathlib.Path("espectros").glob("*.npy"))
x = torch.tensor(np.stack([np.load(a) for a in arquivos]))[:, None]
y = torch.tensor([int(a.stem[-1]) for a in arquivos])
x = (x - x.mean()) / x.std()
rede = nn.Sequential(nn.Conv2d(1, 8, 3, 2), nn.ReLU(), nn.Conv2d(8, 16, 3, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Dropout(0.3), nn.Linear(256, 3))
opt = torch.optim.AdamW(rede.parameters(), 4e-4, weight_decay=1e-2)
n = len(x) - 30
print(f"treino com {n} espectrogramas, validação com 30", flush=True)
for epoca in range(1, 31):
    rede.train()
    ordem = torch.randperm(n)
    for k, i in enumerate(ordem.split(20)):
        perda = nn.functional.cross_entropy(rede(x[i]), y[i])
        opt.zero_grad()
        perda.backward()
        opt.step()
        time.sleep(PACE)
        print(f"época {epoca}/30 lote {k + 1}/{-(-n // 20)} perda {perda.item():.4f}", flush=True)
    rede.eval()
    with torch.no_grad():
        v = rede(x[n:])
        print(f"época {epoca}/30 val_perda {nn.functional.cross_entropy(v, y[n:]).item():.4f} val_acerto {(v.argmax(1) == y[n:]).float().mean().item():.3f}", flush=True)
    torch.save(rede.state_dict(), "aves.pt")
print("treino concluído", flush=True)
