"""DDPM pequeño para texturas de 16x16. Guarda pesos, EMA y muestras cada GUARDAR pasos."""
import copy
import math
import os
import time

import torch
from torch import nn

torch.manual_seed(3)
torch.set_num_threads(1)
T, GUARDAR, PASOS = 200, 30, 300
SALIDA = "salidas"


class Red(nn.Module):
    def __init__(self, c=56):
        super().__init__()
        self.emb = nn.Sequential(nn.Linear(32, c), nn.SiLU(), nn.Linear(c, c))
        self.ent = nn.Conv2d(1, c, 3, padding=1)
        self.medio = nn.ModuleList(nn.Conv2d(c, c, 3, padding=1) for _ in range(3))
        self.sal = nn.Conv2d(c, 1, 3, padding=1)

    def forward(self, x, t):
        f = torch.exp(torch.arange(16) * (-math.log(1e4) / 16))
        e = t[:, None].float() * f
        e = self.emb(torch.cat([e.sin(), e.cos()], 1))[:, :, None, None]
        h = self.ent(x)
        for m in self.medio:
            h = h + torch.nn.functional.silu(m(h + e))
        return self.sal(h)


def texturas(n):
    g = torch.linspace(0, 2 * math.pi, 16)
    a, b, f = torch.rand(3, n, 1, 1)
    x = torch.sin(g[None, :, None] * (1 + 3 * a) + 6 * f) * torch.cos(g[None, None, :] * (1 + 3 * b))
    return x[:, None]


betas = torch.linspace(1e-4, 0.05, T)
abar = torch.cumprod(1 - betas, 0)
red = Red()
ema = copy.deepcopy(red)
opt = torch.optim.AdamW(red.parameters(), lr=1e-3)


def guardar(paso):
    d = f"{SALIDA}/paso_{paso:06d}"
    try:
        os.makedirs(d, exist_ok=True)
        torch.save({"red": red.state_dict(), "ema": ema.state_dict(), "opt": opt.state_dict(), "paso": paso},
                   f"{d}/estado.pt")
        torch.save(texturas(64), f"{d}/muestras.pt")
        print(f"  guardado {d}/estado.pt ({os.path.getsize(d + '/estado.pt') / 1e6:.1f} MB)", flush=True)
    except (OSError, RuntimeError) as e:
        # un fallo al guardar no debe parar el entrenamiento
        print(f"  AVISO: no se pudo guardar el punto de control del paso {paso}: {str(e).splitlines()[0]}", flush=True)


print(f"parámetros: {sum(p.numel() for p in red.parameters()) / 1e3:.0f} k, pasos: {PASOS}", flush=True)
media = None
t0 = time.time()
for paso in range(1, PASOS + 1):
    x = texturas(4)
    t = torch.randint(0, T, (4,))
    r = torch.randn_like(x)
    a = abar[t][:, None, None, None]
    perdida = ((red(a.sqrt() * x + (1 - a).sqrt() * r, t) - r) ** 2).mean()
    opt.zero_grad()
    perdida.backward()
    opt.step()
    with torch.no_grad():
        for pe, p in zip(ema.parameters(), red.parameters()):
            pe.lerp_(p, 0.01)
    media = perdida.item() if media is None else 0.95 * media + 0.05 * perdida.item()
    time.sleep(0.27)
    if paso % 5 == 0:
        print(f"paso {paso}/{PASOS}  pérdida {perdida.item():.4f}  media {media:.4f}  {paso / (time.time() - t0):.2f} pasos/s",
              flush=True)
    if paso % GUARDAR == 0:
        guardar(paso)
print("entrenamiento terminado", flush=True)
