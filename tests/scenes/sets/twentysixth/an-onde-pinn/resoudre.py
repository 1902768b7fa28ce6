"""Équation des ondes 1D par réseau, Adam avec pondération progressive puis L-BFGS."""
import math
import pathlib
import time

import numpy as np
import torch
import torch.nn as nn
from scipy.optimize import minimize

torch.set_num_threads(1)
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))
pathlib.Path("sauvegarde").mkdir(exist_ok=True)
g = torch.Generator().manual_seed(1)
XI = torch.rand(300, 2, generator=g)
X0 = torch.stack([torch.linspace(0, 1, 60), torch.zeros(60)], 1)
XB = torch.cat([torch.stack([torch.full((30,), v), torch.linspace(0, 1, 30)], 1) for v in (0.0, 1.0)])


def exact(x):
    return torch.sin(math.pi * x[:, 0]) * torch.cos(math.pi * x[:, 1])


def deriv(u, x):
    return torch.autograd.grad(u.sum(), x, create_graph=True)[0]


def perte(w0):
    x = XI.clone().requires_grad_()
    d = deriv(net(x), x)
    uxx, utt = deriv(d[:, 0], x)[:, 0], deriv(d[:, 1], x)[:, 1]
    x0 = X0.clone().requires_grad_()
    u0 = net(x0)
    ut0 = deriv(u0, x0)[:, 1]
    ini = (u0[:, 0] - exact(X0)).pow(2).mean() + 0.1 * ut0.pow(2).mean()
    return (utt - uxx).pow(2).mean() + w0 * ini + 10 * net(XB).pow(2).mean()


def erreur():
    z = torch.rand(2000, 2, generator=torch.Generator().manual_seed(9))
    with torch.no_grad():
        return ((net(z)[:, 0] - exact(z)).norm() / exact(z).norm()).item()


def garder(nom):
    torch.save(net.state_dict(), f"sauvegarde/{nom}.pt")
    print(f"{time.strftime('%H:%M:%S')} sauvegarde/{nom}.pt écrit", flush=True)


opt = torch.optim.Adam(net.parameters(), 4e-3)
print("phase 1 : Adam", flush=True)
for it in range(1, 181):
    w0 = 0.1 if it <= 60 else 10.0 if it <= 120 else 100.0
    if it in (61, 121):
        garder("adam")
        print(f"poids de la condition initiale porté à {w0:g}", flush=True)
    for _ in range(4):
        l = perte(w0)
        opt.zero_grad()
        l.backward()
        opt.step()
    time.sleep(0.22)
    if it % 6 == 0:
        print(f"{time.strftime('%H:%M:%S')} itération {it:4d}  perte {l.item():.4e}  erreur L2 {erreur():.3e}", flush=True)
garder("adam")
print("phase 2 : L-BFGS (scipy), 500 évaluations au plus, sans affichage, environ une minute", flush=True)
params = list(net.parameters())


def poser(v):
    with torch.no_grad():
        i = 0
        for p in params:
            p.copy_(torch.tensor(v[i:i + p.numel()], dtype=torch.float32).view_as(p))
            i += p.numel()


def f(v):
    poser(v)
    net.zero_grad()
    l = perte(100.0)
    l.backward()
    time.sleep(0.11)
    return l.item(), np.concatenate([p.grad.numpy().ravel() for p in params]).astype(float)


r = minimize(f, np.concatenate([p.detach().numpy().ravel() for p in params]).astype(float), jac=True, method="L-BFGS-B",
             options={"maxfun": 500, "maxiter": 500, "ftol": 0, "gtol": 0, "maxcor": 50})
poser(r.x)
print(f"L-BFGS : {r.nfev} évaluations, perte {r.fun:.4e}  erreur L2 {erreur():.3e}", flush=True)
print(r.message, flush=True)
garder("final")
print("terminé", flush=True)
