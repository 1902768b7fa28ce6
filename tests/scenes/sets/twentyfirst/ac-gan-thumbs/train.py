"""DCGAN-style toy on 16x16 thumbnails; every sample of the fixed noise goes out as its own PNG."""
import logging
import os
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
log = logging.getLogger("gan")
torch.manual_seed(0)
torch.set_num_threads(1)
OUT, STEPS, N_SAMPLES = "out", 900, 24

G = nn.Sequential(nn.Linear(24, 128), nn.ReLU(), nn.Linear(128, 256), nn.Tanh())
D = nn.Sequential(nn.Linear(256, 96), nn.LeakyReLU(0.2), nn.Dropout(0.2), nn.Linear(96, 1))
og = torch.optim.Adam(G.parameters(), 4e-4, betas=(0.5, 0.99))
od = torch.optim.Adam(D.parameters(), 2e-4, betas=(0.5, 0.99))
fixed = torch.randn(N_SAMPLES, 24)
yy, xx = torch.meshgrid(torch.linspace(-1, 1, 16), torch.linspace(-1, 1, 16), indexing="ij")


def real(n):
    c = torch.rand(n, 2, 1, 1) - 0.5
    r = 0.2 + 0.3 * torch.rand(n, 1, 1)
    d = (yy - c[:, 0]) ** 2 + (xx - c[:, 1]) ** 2
    return (2 * torch.exp(-d / r ** 2) - 1).reshape(n, -1)


def dump(step):
    path = f"{OUT}/samples/{step:06d}"
    os.makedirs(path, exist_ok=True)
    with torch.no_grad():
        imgs = ((G(fixed) + 1) * 127.5).reshape(-1, 16, 16).byte().numpy()
    for k, im in enumerate(imgs):
        Image.fromarray(np.asarray(im)).save(f"{path}/{k:02d}.png")


os.makedirs(f"{OUT}/ckpt", exist_ok=True)
log.info("G %d D %d parameters, samples every 8 steps", sum(p.numel() for p in G.parameters()),
         sum(p.numel() for p in D.parameters()))
for step in range(1, STEPS + 1):
    x = real(32)
    z = torch.randn(32, 24)
    f = G(z)
    ld = F.softplus(-D(x)).mean() + F.softplus(D(f.detach())).mean()
    od.zero_grad()
    ld.backward()
    od.step()
    lg = F.softplus(-D(f)).mean()
    og.zero_grad()
    lg.backward()
    og.step()
    time.sleep(0.2)
    if step % 8 == 0:
        log.info("step %d/%d loss_d %.4f loss_g %.4f D(x) %.3f", step, STEPS, ld.item(), lg.item(),
                 D(x).sigmoid().mean().item())
        dump(step)
    if step % 50 == 0:
        torch.save({"G": G.state_dict(), "D": D.state_dict(), "step": step}, f"{OUT}/ckpt/last.pt.tmp")
        os.replace(f"{OUT}/ckpt/last.pt.tmp", f"{OUT}/ckpt/last.pt")
        log.info("checkpoint at step %d", step)
log.info("done")
