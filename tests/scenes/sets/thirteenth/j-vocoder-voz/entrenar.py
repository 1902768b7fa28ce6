import argparse
import os
import time

import torch
from torch import nn
from torch.nn import functional as F

p = argparse.ArgumentParser()
p.add_argument("--voz")
p.add_argument("--pasos", type=int, default=420)
p.add_argument("--inicio_adv", type=int, default=120)
a = p.parse_args()
torch.manual_seed(5)
torch.set_num_threads(1)
os.makedirs("modelos", exist_ok=True)


def decir(texto):
    print(time.strftime("%d/%m/%Y %H:%M:%S"), "|", texto, flush=True)


G = nn.Sequential(nn.ConvTranspose1d(40, 32, 16, 8, 4), nn.LeakyReLU(0.2), nn.Conv1d(32, 32, 7, padding=3), nn.LeakyReLU(0.2),
                  nn.ConvTranspose1d(32, 1, 16, 8, 4), nn.Tanh())
D = nn.Sequential(nn.Conv1d(1, 16, 15, 4), nn.LeakyReLU(0.2), nn.Conv1d(16, 32, 15, 4), nn.LeakyReLU(0.2), nn.Conv1d(32, 1, 3))
og = torch.optim.AdamW(G.parameters(), 1e-3, betas=(0.8, 0.99))
od = torch.optim.AdamW(D.parameters(), 4e-4, betas=(0.8, 0.99))
ventana = torch.hann_window(64)
base = torch.randn(40, 33) * 0.3


def espectro(x):
    return torch.stft(x[:, 0], 64, 16, window=ventana, return_complex=True, center=False).abs().clamp(min=1e-4).log()


def lote(n=4):
    t = torch.arange(1024) / 16000
    f = torch.rand(n, 1) * 900 + 150
    x = 0.5 * torch.sin(2 * torch.pi * f * t) + 0.2 * torch.sin(4 * torch.pi * f * t)
    x = x[:, None] + 0.01 * torch.randn(n, 1, 1024)
    mel = base @ espectro(x)
    return F.interpolate(mel, 16) / 5, x


decir(f"voz {a.voz}: G {sum(q.numel() for q in G.parameters())} parámetros, D {sum(q.numel() for q in D.parameters())}")
for paso in range(1, a.pasos + 1):
    mel, x = lote()
    y = G(mel)
    rec = F.l1_loss(espectro(y), espectro(x))
    adv = torch.zeros(())
    total = rec
    if paso > a.inicio_adv:
        if paso == a.inicio_adv + 1:
            decir("fase 2: entra el discriminador (lambda_rec=8)")
        d_real, d_falso = D(x), D(y.detach())
        pd = ((1 - d_real) ** 2).mean() + (d_falso ** 2).mean()
        od.zero_grad()
        pd.backward()
        od.step()
        adv = ((1 - D(y)) ** 2).mean()
        total = adv + 8 * rec
    og.zero_grad()
    total.backward()
    og.step()
    time.sleep(0.11)
    if paso % 10 == 0:
        extra = f" adv={adv.item():.4f} disc={pd.item():.4f}" if paso > a.inicio_adv else ""
        decir(f"paso {paso:>5}/{a.pasos} pérdida_gen={total.item():.4f} rec={rec.item():.4f}{extra}")
    if paso % 140 == 0:
        with torch.no_grad():
            mel, x = lote(16)
            decir(f"validación: distancia espectral {F.l1_loss(espectro(G(mel)), espectro(x)).item():.4f}")
        torch.save({"g": G.state_dict(), "d": D.state_dict()}, f"modelos/{a.voz}.pt")
        decir("guardado")
decir("entrenamiento terminado")
