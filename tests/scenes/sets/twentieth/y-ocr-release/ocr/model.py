import torch
import torch.nn as nn


class Lector(nn.Module):
    def __init__(self, letras=20):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(12, 12, 3, padding=1), nn.ReLU())
        self.cabezas = nn.ModuleDict({"letra": nn.Linear(12 * 64, letras), "estilo": nn.Linear(12 * 64, 3)})

    def forward(self, x, **opciones):
        h = self.conv(x).flatten(1)
        pedidas = opciones.get("cabezas", ("letra", "estilo"))
        return {n: self.cabezas[n](h) for n in pedidas}


def muestras(n, g, letras=20):
    moldes = torch.randn(letras, 1, 16, 16, generator=torch.Generator().manual_seed(0))
    y = torch.randint(0, letras, (n,), generator=g)
    e = torch.randint(0, 3, (n,), generator=g)
    x = moldes[y] * (1 + e.view(-1, 1, 1, 1)) * 0.5 + torch.randn(n, 1, 16, 16, generator=g)
    return x, y, e
