"""Inverse heat conduction: find the diffusivity from 200 noisy readings. Adam first, then L-BFGS."""
import time

import torch
from rich.console import Console
from torch import nn

torch.manual_seed(1)
torch.set_num_threads(1)
con = Console(width=110, force_terminal=False)
TRUE = 0.15
net = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))
log_k = nn.Parameter(torch.tensor(-3.0))
params = [*net.parameters(), log_k]
gen = torch.Generator().manual_seed(2)


def exact(xt):
    x, t = xt[:, :1], xt[:, 1:]
    return torch.sin(torch.pi * x) * torch.exp(-TRUE * torch.pi**2 * t)


xt_d = torch.rand(200, 2, generator=gen)
u_d = exact(xt_d) + 0.01 * torch.randn(200, 1, generator=gen)


def losses(n=256):
    xt = torch.rand(n, 2, generator=gen).requires_grad_(True)
    u = net(xt)
    d = torch.autograd.grad(u.sum(), xt, create_graph=True)[0]
    dxx = torch.autograd.grad(d[:, :1].sum(), xt, create_graph=True)[0][:, :1]
    pde = ((d[:, 1:] - log_k.exp() * dxx) ** 2).mean()
    data = ((net(xt_d) - u_d) ** 2).mean()
    return data, pde


con.rule("Adam")
adam = torch.optim.Adam(params, lr=5e-3)
for it in range(1, 601):
    data, pde = losses()
    loss = 10 * data + pde
    adam.zero_grad()
    loss.backward()
    adam.step()
    time.sleep(0.04)
    if it % 20 == 0:
        con.print(f"adam {it:5d}   loss {loss.item():.3e}   data {data.item():.3e}   pde {pde.item():.3e}   k {log_k.exp().item():.4f}")
torch.save(net.state_dict(), "after_adam.pt")

con.rule("L-BFGS")
state = gen.get_state()
lbfgs = torch.optim.LBFGS(params, lr=1.0, max_iter=10, history_size=20, line_search_fn="strong_wolfe")
for outer in range(1, 31):
    def closure():
        gen.set_state(state)
        lbfgs.zero_grad()
        data, pde = losses()
        loss = 10 * data + pde
        loss.backward()
        time.sleep(0.03)
        return loss

    loss = lbfgs.step(closure)
    con.print(f"lbfgs {outer:4d}   loss {loss.item():.3e}   k {log_k.exp().item():.4f}")
con.print(f"diffusivity {log_k.exp().item():.4f} (true {TRUE}); weights in heat.pt")
torch.save({"net": net.state_dict(), "log_k": log_k.detach()}, "heat.pt")
