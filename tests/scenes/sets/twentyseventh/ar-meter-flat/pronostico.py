"""Pronóstico de consumo eléctrico: entrenamiento que avanza semana a semana (walk-forward)."""
import os
import time

import numpy as np
import torch
import torch.nn as nn

PACE = float(os.environ.get("PACE", 0.42))
torch.manual_seed(3)
torch.set_num_threads(1)
r = np.random.default_rng(3)

SEMANAS, MEDIDORES, H = 40, 60, 168
h = np.arange(SEMANAS * H)
base = r.uniform(0.3, 2.0, (MEDIDORES, 1))
fase = r.uniform(0, 24, (MEDIDORES, 1))
datos = base * (1.4 + np.sin((h + fase) * 2 * np.pi / 24) + 0.4 * np.sin(h * 2 * np.pi / 168))
datos += 0.15 * base * r.standard_normal(datos.shape)
for m, semana in ((37, 15), (8, 22), (51, 27)):  # medidores dados de baja: el concentrador escribe 0
    datos[m, semana * H:] = 0.0
np.save("lecturas.npy", datos.astype(np.float32))
datos = np.load("lecturas.npy", mmap_mode="r")


def ventana(m, t):
    x, y = datos[m, t:t + 48], datos[m, t + 48:t + 60]
    media, desv = x.mean(), x.std()
    return (x - media) / desv, (y - media) / desv


class Modelo(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(1, 24, batch_first=True)
        self.cab = nn.Linear(24, 12)

    def forward(self, x):
        return self.cab(self.gru(x.unsqueeze(-1))[0][:, -1])


modelo = Modelo()
opt = torch.optim.Adam(modelo.parameters(), 4e-3)
paso = 0
for semana in range(1, SEMANAS - 1):
    suma = 0.0
    for _ in range(12):
        pares = [ventana(r.integers(MEDIDORES), semana * H + r.integers(0, H - 60)) for _ in range(24)]
        x = torch.tensor(np.stack([p[0] for p in pares]))
        y = torch.tensor(np.stack([p[1] for p in pares]))
        perdida = nn.functional.mse_loss(modelo(x), y)
        opt.zero_grad()
        perdida.backward()
        opt.step()
        paso += 1
        suma += perdida.item()
        time.sleep(PACE)
        print(f"{time.strftime('%H:%M:%S')} semana {semana:02d} paso {paso:04d} pérdida={perdida.item():.4f}", flush=True)
    print(f"{time.strftime('%H:%M:%S')} fin de la semana {semana:02d}: pérdida media {suma / 12:.4f}, modelo guardado", flush=True)
    torch.save(modelo.state_dict(), "modelo.pt")
