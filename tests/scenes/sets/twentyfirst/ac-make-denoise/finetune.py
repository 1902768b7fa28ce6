import argparse
import time

import torch

from net import Denoiser, images
from saver import BackgroundSaver

ap = argparse.ArgumentParser()
ap.add_argument("--init")
ap.add_argument("--steps", type=int)
ap.add_argument("--out")
a = ap.parse_args()
net = Denoiser()
net.load_state_dict(torch.load(a.init)["net"])
opt = torch.optim.Adam(net.parameters(), 3e-4)
saver = BackgroundSaver(a.out)
for step in range(1, a.steps + 1):
    x = images(32)
    loss = (net(x + 0.2 * torch.randn_like(x) * (1 + x.abs())) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.24)
    if step % 10 == 0:
        print(f"[finetune] {step}/{a.steps} mse {loss.item():.5f}")
    if step % 60 == 0:
        saver.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step})
print("[finetune] done")
