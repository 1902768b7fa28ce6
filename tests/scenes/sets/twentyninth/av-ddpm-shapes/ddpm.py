"""Denoising diffusion on 16x16 shapes, with EMA and a sheet of samples now and then."""
import copy
import logging
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image

logging.basicConfig(format="%(asctime)s | %(levelname)s | %(name)s:%(funcName)s:%(lineno)d - %(message)s", level=logging.INFO)
log = logging.getLogger("ddpm")
PAUSE = float(os.environ.get("PAUSE", "0.18"))
torch.set_num_threads(1)
torch.manual_seed(0)
T, STEPS, S = 200, 600, 16
beta = torch.linspace(1e-4, 0.04, T)
alpha_bar = torch.cumprod(1 - beta, 0)
yy, xx = torch.meshgrid(torch.linspace(-1, 1, S), torch.linspace(-1, 1, S), indexing="ij")


def shapes(n):
    cx, cy, r = (torch.rand(3, n, 1, 1) - 0.5) * torch.tensor([0.8, 0.8, 0.3]).view(3, 1, 1, 1)
    r = r + 0.45
    disc = ((xx - cx) ** 2 + (yy - cy) ** 2).sqrt() < r
    square = torch.maximum((xx - cx).abs(), (yy - cy).abs()) < r * 0.9
    return torch.where(torch.rand(n, 1, 1) < 0.5, disc, square).float().unsqueeze(1) * 2 - 1


class Denoiser(nn.Module):
    def __init__(self, w=24):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(16, w), nn.SiLU(), nn.Linear(w, w))
        self.inp, self.d = nn.Conv2d(1, w, 3, padding=1), nn.Conv2d(w, w, 3, 2, 1)
        self.m1, self.m2 = nn.Conv2d(w, w, 3, padding=1), nn.Conv2d(w, w, 3, padding=1)
        self.out = nn.Conv2d(2 * w, 1, 3, padding=1)

    def forward(self, x, t):
        f = t[:, None].float() / T * 2.0 ** torch.arange(8)
        e = self.time(torch.cat([f.sin(), f.cos()], 1))[:, :, None, None]
        a = F.silu(self.inp(x) + e)
        b = F.silu(self.d(a))
        b = F.silu(self.m2(F.silu(self.m1(b) + e))) + b
        return self.out(torch.cat([a, F.interpolate(b, scale_factor=2)], 1))


@torch.no_grad()
def sample(net, n, pause):
    x = torch.randn(n, 1, S, S)
    for t in reversed(range(T)):
        eps = net(x, torch.full((n,), t))
        x = (x - beta[t] / (1 - alpha_bar[t]).sqrt() * eps) / (1 - beta[t]).sqrt()
        if t:
            x = x + beta[t].sqrt() * torch.randn_like(x)
        time.sleep(pause)
    return x


def main():
    net = Denoiser()
    ema = copy.deepcopy(net)
    opt = torch.optim.AdamW(net.parameters(), 2e-3)
    os.makedirs("samples", exist_ok=True)
    log.info("training %d steps, %.0fk parameters, T=%d", STEPS, sum(p.numel() for p in net.parameters()) / 1e3, T)
    for step in range(1, STEPS + 1):
        x = shapes(48)
        t = torch.randint(0, T, (48,))
        noise = torch.randn_like(x)
        ab = alpha_bar[t].view(-1, 1, 1, 1)
        loss = F.mse_loss(net(ab.sqrt() * x + (1 - ab).sqrt() * noise, t), noise)
        opt.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        with torch.no_grad():
            for a, b in zip(ema.parameters(), net.parameters()):
                a.lerp_(b, 0.01)
        time.sleep(PAUSE)
        if step % 3 == 0:
            log.info("step=%d/%d loss=%.5f grad_norm=%.3f lr=%.1e", step, STEPS, loss.item(), norm, 2e-3)
        if step % 150 == 0:
            sheet = sample(ema, 16, PAUSE / 5)
            picture = ((sheet.clamp(-1, 1) + 1) * 127.5).byte().view(4, 4, S, S).permute(0, 2, 1, 3).reshape(4 * S, 4 * S)
            Image.fromarray(picture.numpy()).save(f"samples/{step:06d}.png")
            torch.save({"net": net.state_dict(), "ema": ema.state_dict(), "opt": opt.state_dict(), "step": step}, "ddpm.pt")
            log.info("wrote samples/%06d.png and ddpm.pt", step)
    log.info("done")


main()
