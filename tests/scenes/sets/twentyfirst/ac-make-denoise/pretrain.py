import argparse
import time

import torch

from net import Denoiser, images
from saver import BackgroundSaver

ap = argparse.ArgumentParser()
ap.add_argument("--steps", type=int)
ap.add_argument("--out")
a = ap.parse_args()
torch.manual_seed(4)
net = Denoiser()
opt = torch.optim.Adam(net.parameters(), 1e-3)
saver = BackgroundSaver(a.out)
for step in range(1, a.steps + 1):
    x = images(32)
    loss = (net(x + 0.4 * torch.randn_like(x)) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.24)
    if step % 10 == 0:
        print(f"[pretrain] {step}/{a.steps} mse {loss.item():.5f}")
    if step % 60 == 0:
        saver.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step})
        print(f"[pretrain] saving {a.out}")
print("[pretrain] done")
