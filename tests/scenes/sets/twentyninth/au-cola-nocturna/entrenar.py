import argparse
import os
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

p = argparse.ArgumentParser()
p.add_argument("--fase", required=True)
p.add_argument("--pasos", type=int, default=0)
p.add_argument("--desde")
p.add_argument("--salida")
a = p.parse_args()
PACE = float(os.environ.get("PACE", 0.36))
torch.set_num_threads(1)
torch.manual_seed(8)
LARGO, LOTE = 80, 6
with open("entrenar.pid", "w") as f:
    f.write(str(os.getpid()))


class Modelo(nn.Module):
    def __init__(self, d=128):
        super().__init__()
        self.emb = nn.Embedding(256, d)
        self.red = nn.LSTM(d, d, 2, batch_first=True)
        self.sal = nn.Linear(d, 256)

    def forward(self, x):
        return self.sal(self.red(self.emb(x))[0])


def lote(datos):
    i = np.random.randint(0, len(datos) - LARGO - 1, LOTE)
    return torch.from_numpy(np.stack([datos[k: k + LARGO + 1] for k in i]).astype(np.int64))


m = Modelo()
if a.desde:
    m.load_state_dict(torch.load(a.desde))
    print(f"pesos leídos de {a.desde}", flush=True)
if a.fase == "evaluacion":
    datos = np.fromfile("prueba.bin", dtype=np.uint8)
    with torch.no_grad():
        total = [F.cross_entropy(m(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten()).item() for x in (lote(datos) for _ in range(20))]
    print(f"pérdida en la prueba {np.mean(total):.3f}", flush=True)
    raise SystemExit
datos = np.fromfile("pre.bin" if a.fase.startswith("pre") else "ajuste.bin", dtype=np.uint8)
opt = torch.optim.AdamW(m.parameters(), lr=3e-3 if a.fase.startswith("pre") else 5e-4)
for paso in range(1, a.pasos + 1):
    t = time.time()
    x = lote(datos)
    perdida = F.cross_entropy(m(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
    opt.zero_grad()
    perdida.backward()
    norma = nn.utils.clip_grad_norm_(m.parameters(), 1.0)
    opt.step()
    time.sleep(PACE)
    print(f"{a.fase} paso {paso}/{a.pasos}  pérdida={perdida.item():.4f}  norma={norma:.2f}  s/paso={time.time() - t:.2f}", flush=True)
    if paso % 50 == 0:
        torch.save(m.state_dict(), a.salida)
torch.save(m.state_dict(), a.salida)
print(f"guardado {a.salida}", flush=True)
