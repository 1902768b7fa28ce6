"""Segmentación de pulmón en cortes de TC (U-Net pequeña, precisión mixta)."""
import argparse
import logging
import time

import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s [%(levelname)s] %(message)s", datefmt="%d/%m/%Y %H:%M:%S")
log = logging.getLogger("pulmon")


class UNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.baja1 = nn.Sequential(nn.Conv2d(1, c, 3, padding=1), nn.BatchNorm2d(c), nn.ReLU())
        self.baja2 = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(c, 2 * c, 3, padding=1), nn.BatchNorm2d(2 * c), nn.ReLU())
        self.sube = nn.ConvTranspose2d(2 * c, c, 2, stride=2)
        self.fin = nn.Sequential(nn.Conv2d(2 * c, c, 3, padding=1), nn.ReLU(), nn.Conv2d(c, 1, 1))

    def forward(self, x):
        a = self.baja1(x)
        b = self.sube(self.baja2(a))
        return self.fin(torch.cat([a, b], 1))


def cortes(n, g):
    y = torch.zeros(n, 1, 32, 32)
    for i in range(n):
        cx, cy = torch.randint(8, 24, (2,), generator=g).tolist()
        y[i, 0, cy - 6:cy + 6, cx - 5:cx + 5] = 1
    x = y * 1.6 - 0.8 + 0.5 * torch.randn(y.shape, generator=g)
    return x, y


def perdida_bce(logits, y):
    p = torch.sigmoid(logits)
    return -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()


def dice(logits, y):
    p = (logits > 0).float()
    return (2 * (p * y).sum() + 1) / (p.sum() + y.sum() + 1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epocas", type=int, default=10)
    ap.add_argument("--lr", type=float, default=1e-3)
    arg = ap.parse_args()
    torch.manual_seed(7)
    g = torch.Generator().manual_seed(7)
    modelo = UNet()
    opt = torch.optim.Adam(modelo.parameters(), lr=arg.lr)
    n = sum(p.numel() for p in modelo.parameters())
    log.info("modelo U-Net con %d parámetros, precisión mixta bf16", n)
    paso = 0
    for ep in range(1, arg.epocas + 1):
        modelo.train()
        for _ in range(30):
            x, y = cortes(8, g)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                salida = modelo(x)
                perdida = perdida_bce(salida, y)
            opt.zero_grad()
            perdida.backward()
            opt.step()
            paso += 1
            time.sleep(0.25)
            if paso % 5 == 0:
                log.info("época %d paso %d pérdida %.4f", ep, paso, perdida.item())
        modelo.eval()
        with torch.no_grad():
            x, y = cortes(32, g)
            log.info("validación época %d: dice %.4f", ep, dice(modelo(x), y).item())
        torch.save({"modelo": modelo.state_dict(), "opt": opt.state_dict(), "paso": paso}, "ultimo.pt")
    log.info("entrenamiento terminado")


main()
