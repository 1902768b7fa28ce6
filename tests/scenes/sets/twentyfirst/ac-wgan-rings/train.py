"""WGAN-GP on rings of Gaussians; the critic is trained three times per generator step."""
import os
import time

import torch
import torch.nn as nn
from tqdm import tqdm

torch.manual_seed(6)
torch.set_num_threads(1)
G = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
C = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
og = torch.optim.Adam(G.parameters(), 1e-3, betas=(0.0, 0.9))
oc = torch.optim.Adam(C.parameters(), 1e-3, betas=(0.0, 0.9))


def real(n):
    k = torch.randint(0, 8, (n,)).float() * 0.7854
    return torch.stack([2 * k.cos(), 2 * k.sin()], 1) + 0.1 * torch.randn(n, 2)


def sliced_w(a, b):
    """Sliced Wasserstein distance, the number that counts here (lower is better)."""
    d = torch.nn.functional.normalize(torch.randn(2, 64), dim=0)
    return ((a @ d).sort(0).values - (b @ d).sort(0).values).abs().mean().item()


os.makedirs("ckpt", exist_ok=True)
bar = tqdm(range(1, 481), desc="wgan-gp", mininterval=2, ncols=110)
for step in bar:
    for _ in range(3):
        x, f = real(64), G(torch.randn(64, 8)).detach()
        m = (torch.rand(64, 1) * (x - f) + f).requires_grad_(True)
        gp = (torch.autograd.grad(C(m).sum(), m, create_graph=True)[0].norm(dim=1) - 1).pow(2).mean()
        lc = C(f).mean() - C(x).mean() + 2 * gp
        oc.zero_grad()
        lc.backward()
        oc.step()
    lg = -C(G(torch.randn(64, 8))).mean()
    og.zero_grad()
    lg.backward()
    og.step()
    time.sleep(0.22)
    bar.set_postfix(critic=f"{lc.item():.3f}", gen=f"{lg.item():.3f}", refresh=False)
    if step % 10 == 0:
        with torch.no_grad():
            sw = sliced_w(real(1000), G(torch.randn(1000, 8)))
        tqdm.write(f"step {step} critic_loss {lc.item():+.4f} gen_loss {lg.item():+.4f} gp {gp.item():.4f} sliced_w {sw:.4f}")
    if step % 80 == 0:
        torch.save({"G": G.state_dict(), "C": C.state_dict()}, f"ckpt/{step}.pt")
tqdm.write("done")
