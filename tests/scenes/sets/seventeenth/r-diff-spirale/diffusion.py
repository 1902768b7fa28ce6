# Diffusion jouet en 2D : une spirale
import copy
import math
import time

import torch
import torch.nn as nn

torch.set_num_threads(1)
torch.manual_seed(0)
T = 100
beta = torch.linspace(1e-4, 0.05, T)
abar = torch.cumprod(1 - beta, 0)


def spirale(n):
    t = torch.rand(n) * 3 * math.pi + 0.5
    return torch.stack([t * t.cos(), t * t.sin()], 1) / 6 + 0.02 * torch.randn(n, 2)


class Debruiteur(nn.Module):
    def __init__(self):
        super().__init__()
        self.r = nn.Sequential(nn.Linear(4, 96), nn.SiLU(), nn.Linear(96, 96), nn.SiLU(), nn.Linear(96, 2))

    def forward(self, x, t):
        u = t.float() / T
        return self.r(torch.cat([x, torch.sin(3 * u)[:, None], torch.cos(3 * u)[:, None]], 1))


@torch.no_grad()
def echantillonner(m, n=256):
    x = torch.randn(n, 2)
    for t in reversed(range(T)):
        e = m(x, torch.full((n,), t))
        x = (x - beta[t] / (1 - abar[t]).sqrt() * e) / (1 - beta[t]).sqrt()
        if t:
            x += beta[t].sqrt() * torch.randn_like(x)
    return x


m = Debruiteur()
ema = copy.deepcopy(m)
opt = torch.optim.Adam(m.parameters(), 1e-3)
print("début de l'entraînement,", sum(p.numel() for p in m.parameters()), "paramètres", flush=True)
for epoque in range(1, 26):
    s = 0.0
    for _ in range(40):
        x0 = spirale(64)
        t = torch.randint(0, T, (64,))
        e = torch.randn_like(x0)
        xt = abar[t].sqrt()[:, None] * x0 + (1 - abar[t]).sqrt()[:, None] * e
        perte = ((m(xt, t) - e) ** 2).mean()
        opt.zero_grad()
        perte.backward()
        opt.step()
        with torch.no_grad():
            for a, b in zip(ema.parameters(), m.parameters()):
                a.lerp_(b, 0.01)
        s += perte.item()
        time.sleep(0.05)
    ech = echantillonner(ema)
    print(f"[{time.strftime('%Hh%M:%S')}] époque {epoque}/25 - perte {s / 40:.4f} - écart-type des échantillons {ech.std().item():.3f}", flush=True)
    torch.save({"ema": ema.state_dict(), "m": m.state_dict()}, "spirale.pt")
print("terminé", flush=True)
