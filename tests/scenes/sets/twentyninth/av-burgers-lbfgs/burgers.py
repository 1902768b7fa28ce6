"""PINN for Burgers' equation: Adam first, L-BFGS to finish."""
import math
import os
import time

import torch
import torch.nn as nn

PAUSE = float(os.environ.get("PAUSE", "0.08"))
torch.set_num_threads(1)
torch.manual_seed(1234)
NU = 0.02
layers = [2, 20, 20, 20, 20, 1]
net = nn.Sequential(*[m for a, b in zip(layers, layers[1:]) for m in (nn.Linear(a, b), nn.Tanh())][:-1])
x0 = torch.linspace(-1, 1, 120).view(-1, 1)
u0 = -torch.sin(math.pi * x0)
tb = torch.rand(80, 1)
xf, tf = torch.rand(900, 1) * 2 - 1, torch.rand(900, 1)


def loss_terms():
    ic = (net(torch.cat([x0, 0 * x0], 1)) - u0).square().mean()
    bc = net(torch.cat([torch.ones_like(tb), tb], 1)).square().mean() + net(torch.cat([-torch.ones_like(tb), tb], 1)).square().mean()
    x, t = xf.clone().requires_grad_(), tf.clone().requires_grad_()
    u = net(torch.cat([x, t], 1))
    ux, ut = torch.autograd.grad(u.sum(), (x, t), create_graph=True)
    uxx = torch.autograd.grad(ux.sum(), x, create_graph=True)[0]
    return (ut + u * ux - NU * uxx).square().mean(), ic, bc


def row(phase, it, f, ic, bc):
    print(f"{phase:7s} {it:6d}  Loss {f + 10 * ic + bc:.5e}  Loss_f {f:.5e}  Loss_ic {ic:.5e}  Loss_bc {bc:.5e}  t {time.time() - start:.1f}", flush=True)


start = time.time()
adam = torch.optim.Adam(net.parameters(), 3e-3)
for it in range(1, 801):
    f, ic, bc = loss_terms()
    adam.zero_grad()
    (f + 10 * ic + bc).backward()
    adam.step()
    time.sleep(PAUSE)
    if it % 10 == 0:
        row("Adam", it, f.item(), ic.item(), bc.item())
torch.save(net.state_dict(), "adam.pt")
print("Adam done, switching to L-BFGS (strong Wolfe)", flush=True)
lbfgs = torch.optim.LBFGS(net.parameters(), max_iter=10, history_size=50, line_search_fn="strong_wolfe")


def closure():
    lbfgs.zero_grad()
    f, ic, bc = loss_terms()
    loss = f + 10 * ic + bc
    loss.backward()
    time.sleep(PAUSE)
    closure.last = (f.item(), ic.item(), bc.item())
    return loss


for it in range(1, 66):
    lbfgs.step(closure)
    row("L-BFGS", it * 10, *closure.last)
torch.save(net.state_dict(), "burgers.pt")
print(f"finished after {time.time() - start:.1f} s", flush=True)
