import csv
import sys
import time

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(21)


class Detector(nn.Module):
    """Autocodificador para ventanas de 256 sensores."""

    def __init__(self):
        super().__init__()
        self.cod = nn.Sequential(nn.Linear(256, 512), nn.Tanh(), nn.Linear(512, 32))
        self.dec = nn.Sequential(nn.Linear(32, 512), nn.Tanh(), nn.Linear(512, 256))

    def forward(self, x):
        return self.dec(self.cod(x))


def lote(g, n=512):
    t = torch.rand(n, 1, generator=g) * 6.28
    fase = torch.linspace(0, 12.5, 256)
    return torch.sin(t + fase) + 0.05 * torch.randn(n, 256, generator=g)


def main():
    g = torch.Generator().manual_seed(3)
    modelo = Detector()
    opt = torch.optim.Adam(modelo.parameters(), lr=1e-3)
    pasos = 1500
    perdida_total = 0.0
    with open("metricas.csv", "w", newline="") as f:
        tabla = csv.writer(f)
        tabla.writerow(["paso", "perdida", "perdida_media", "segundos"])
        inicio = time.time()
        for paso in range(1, pasos + 1):
            x = lote(g)
            perdida = ((modelo(x) - x) ** 2).mean()
            opt.zero_grad()
            perdida.backward()
            opt.step()
            # media de toda la corrida, con el término de suavidad del último lote
            suave = (modelo(x[:200]).diff(dim=1) ** 2).mean()
            perdida_total = perdida_total + perdida.detach() + 1e-4 * suave
            tabla.writerow([paso, f"{perdida.item():.5f}", f"{float(perdida_total) / paso:.5f}", f"{time.time() - inicio:.1f}"])
            time.sleep(0.1)
            if paso % 10 == 0:
                f.flush()
                print(f"[{time.strftime('%H:%M:%S')}] paso {paso}/{pasos}  pérdida {perdida.item():.5f}  media {float(perdida_total) / paso:.5f}", flush=True)
    torch.save(modelo.state_dict(), "detector.pt")
    print("Entrenamiento terminado", flush=True)


if __name__ == "__main__":
    print(f"Python {sys.version.split()[0]}, torch {torch.__version__}, dispositivo: cpu", flush=True)
    main()
