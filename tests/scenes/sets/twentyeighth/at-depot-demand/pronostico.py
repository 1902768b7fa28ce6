"""Pronóstico de la demanda diaria por depósito: GRU sobre ventanas de 28 días, 7 días adelante."""
import os
import time

import numpy as np
import torch
import torch.nn as nn

PAUSA = float(os.environ.get("PAUSA", "0.3"))
torch.set_num_threads(1)
torch.manual_seed(0)
rng = np.random.default_rng(3)

DIAS, N = 1000, 48
t = np.arange(DIAS)
demanda = np.zeros((N, DIAS), np.float32)
for d in range(N):
    base = rng.uniform(40, 300)
    semana = 1 + rng.uniform(0.1, 0.4) * np.sin(2 * np.pi * (t + rng.integers(7)) / 7)
    anio = 1 + rng.uniform(0.05, 0.3) * np.sin(2 * np.pi * (t + rng.integers(365)) / 365)
    demanda[d] = np.maximum(0, base * semana * anio * rng.normal(1, 0.06, DIAS))
# el depósito 31 cerró por obras
demanda[31, 455:530] = 0.0


class Modelo(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(1, 24, batch_first=True)
        self.sal = nn.Linear(24, 7)

    def forward(self, x):
        return self.sal(self.gru(x)[0][:, -1])


def lote(desde, hasta):
    """Un día cualquiera del tramo, todos los depósitos."""
    dia = int(rng.integers(desde, hasta))
    x = torch.from_numpy(demanda[:, dia - 28:dia])
    y = torch.from_numpy(demanda[:, dia:dia + 7])
    m, s = x.mean(1, keepdim=True), x.std(1, keepdim=True)
    return ((x - m) / s).unsqueeze(-1), (y - m) / s


modelo = Modelo()
opt = torch.optim.Adam(modelo.parameters(), lr=4e-3)
paso = 0
# la ventana avanza: cada tramo entrena con 30 días más
for tramo in range(1, 25):
    desde, hasta = 200 + 30 * (tramo - 1), 230 + 30 * (tramo - 1)
    if hasta + 7 > DIAS:
        break
    perdidas = []
    for _ in range(25):
        paso += 1
        x, y = lote(desde, hasta)
        perdida = nn.functional.huber_loss(modelo(x), y)
        opt.zero_grad()
        perdida.backward()
        nn.utils.clip_grad_norm_(modelo.parameters(), 1.0)
        opt.step()
        perdidas.append(perdida.item())
        if paso % 2 == 0:
            print(f"paso {paso:4d} tramo {tramo:2d} perdida={perdida.item():.4f}", flush=True)
        time.sleep(PAUSA)
    torch.save(modelo.state_dict(), "modelo.pt")
    print(f"== tramo {tramo} (dias {desde}-{hasta}) perdida media={np.mean(perdidas):.4f}, guardado modelo.pt", flush=True)
