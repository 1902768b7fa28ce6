"""Autoencoder de espectros de masas; una ejecución por semilla."""
import argparse
import time

import torch
import torch.nn as nn

p = argparse.ArgumentParser()
p.add_argument("--semilla", type=int, default=0)
p.add_argument("--pasos", type=int, default=120)
a = p.parse_args()
torch.manual_seed(a.semilla)
red = nn.Sequential(nn.Linear(100, 48), nn.Tanh(), nn.Linear(48, 6), nn.Linear(6, 48), nn.Tanh(), nn.Linear(48, 100))
opt = torch.optim.Adam(red.parameters(), 3e-3)
base = torch.randn(4, 100)
print(f"red con {sum(q.numel() for q in red.parameters())} parámetros, semilla {a.semilla}")
for paso in range(1, a.pasos + 1):
    x = torch.rand(64, 4) @ base
    perdida = (red(x) - x).pow(2).mean()
    opt.zero_grad()
    perdida.backward()
    opt.step()
    time.sleep(0.27)
    if paso % 5 == 0:
        print(f"paso {paso:4d}/{a.pasos}  pérdida {perdida.item():.5f}")
    if paso % 40 == 0:
        torch.save(red.state_dict(), f"semilla{a.semilla}_{paso}.pt")
        print(f"guardado semilla{a.semilla}_{paso}.pt")
print(f"fin de la semilla {a.semilla}: pérdida {perdida.item():.5f}")
