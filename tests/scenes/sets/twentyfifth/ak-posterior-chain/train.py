"""Bayesian intent head: burn-in with Adam, then a Langevin chain that collects posterior samples."""
import time

import torch
import torch.nn.functional as F
from rich.console import Console

console = Console(width=110, log_path=False)
torch.manual_seed(0)
torch.set_num_threads(1)
gen = torch.Generator().manual_seed(8)
N, DIM, K = 1200, 40, 7
centre = torch.randn(K, DIM, generator=gen)
y = torch.randint(0, K, (N,), generator=gen)
x = centre[y] * 0.35 + torch.randn(N, DIM, generator=gen)
tx, ty, vx, vy = x[:900], y[:900], x[900:], y[900:]
w = torch.zeros(DIM, K, requires_grad=True)
opt = torch.optim.Adam([w], lr=0.02)


def potential(w):
    return F.cross_entropy(tx @ w, ty, reduction="sum") + 0.5 * (w ** 2).sum()


for step in range(1, 61):
    u = potential(w)
    opt.zero_grad()
    u.backward()
    opt.step()
    time.sleep(0.3)
    if step % 10 == 0:
        console.log(f"burn-in step {step} nll {u.item() / len(tx):.4f}")
eps, probs, kept = 1.2e-3, torch.zeros(len(vy), K), 0
for step in range(61, 391):
    u = potential(w)
    grad, = torch.autograd.grad(u, w)
    with torch.no_grad():
        w += -0.5 * eps * grad + eps ** 0.5 * torch.randn(w.shape)
    time.sleep(0.3)
    if step % 10 == 0:
        with torch.no_grad():
            probs += (vx @ w).softmax(-1)
        kept += 1
        console.log(f"chain step {step} nll {u.item() / len(tx):.4f} grad_norm {grad.norm().item():.1f} "
                    f"sample {kept}/33 kept")
        torch.save(w.detach(), f"sample_{kept:03d}.pt")
acc = (probs.argmax(1) == vy).float().mean().item()
console.log(f"posterior mean over {kept} samples: val nll "
            f"{F.nll_loss((probs / kept).log(), vy).item():.4f} val acc {acc:.3f}")
