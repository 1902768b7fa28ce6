"""PINN for the viscous Burgers equation: Adam first, then L-BFGS for the last digits."""
import csv
import math
import os
import time

import torch

torch.manual_seed(3)
torch.set_num_threads(1)
NU = 0.01 / math.pi
net = torch.nn.Sequential(torch.nn.Linear(2, 24), torch.nn.Tanh(), torch.nn.Linear(24, 24), torch.nn.Tanh(),
                          torch.nn.Linear(24, 24), torch.nn.Tanh(), torch.nn.Linear(24, 1))
xc = torch.rand(400, 1) * 2 - 1
tc = torch.rand(400, 1)
x0 = torch.linspace(-1, 1, 80)[:, None]
u0 = -torch.sin(math.pi * x0)
tb = torch.rand(40, 1)


def loss_fn():
    x, t = xc.clone().requires_grad_(), tc.clone().requires_grad_()
    u = net(torch.cat([x, t], 1))
    ux, ut = torch.autograd.grad(u.sum(), (x, t), create_graph=True)
    uxx, = torch.autograd.grad(ux.sum(), x, create_graph=True)
    pde = (ut + u * ux - NU * uxx).pow(2).mean()
    ic = (net(torch.cat([x0, torch.zeros_like(x0)], 1)) - u0).pow(2).mean()
    bc = (net(torch.cat([torch.ones_like(tb), tb], 1)).pow(2) + net(torch.cat([-torch.ones_like(tb), tb], 1)).pow(2)).mean()
    return pde + 10 * ic + 10 * bc, pde, ic


os.makedirs("out", exist_ok=True)
hist = csv.writer(open("out/history.csv", "w", buffering=1))
hist.writerow(["it", "phase", "loss", "pde", "ic", "seconds"])
begin = time.time()


def report(it, phase, loss, pde, ic):
    hist.writerow([it, phase, f"{loss:.6e}", f"{pde:.6e}", f"{ic:.6e}", f"{time.time() - begin:.1f}"])
    print(f"[{phase}] it {it:4d}  perte {loss:.4e}  edp {pde:.3e}  ci {ic:.3e}", flush=True)


ADAM, LBFGS = 110, 160
opt = torch.optim.Adam(net.parameters(), lr=4e-3)
print(f"Burgers, {sum(p.numel() for p in net.parameters())} paramètres ; {ADAM} itérations Adam puis {LBFGS} L-BFGS", flush=True)
for it in range(1, ADAM + 1):
    for _ in range(3):
        opt.zero_grad()
        loss, pde, ic = loss_fn()
        loss.backward()
        opt.step()
    report(it, "adam", loss.item(), pde.item(), ic.item())
    if it % 30 == 0:
        torch.save(net.state_dict(), "out/modele.pt")
        print(f"modèle enregistré (it {it})", flush=True)
    time.sleep(0.35)

print("phase 2 : affinage L-BFGS", flush=True)
opt = torch.optim.LBFGS(net.parameters(), lr=float(os.environ.get("LBFGS_LR", "1.0")),
                        max_iter=4, history_size=50)
for it in range(ADAM + 1, ADAM + LBFGS + 1):
    def closure():
        opt.zero_grad()
        loss = loss_fn()[0]
        loss.backward()
        return loss
    opt.step(closure)
    loss, pde, ic = loss_fn()
    report(it, "lbfgs", loss.item(), pde.item(), ic.item())
    if it % 30 == 0:
        torch.save(net.state_dict(), "out/modele.pt")
        print(f"modèle enregistré (it {it})", flush=True)
    time.sleep(0.4)
print("terminé", flush=True)
