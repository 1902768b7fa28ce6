import argparse
import os
import random
import time

import numpy as np
import torch
import torch.nn as nn
from PIL import Image

ap = argparse.ArgumentParser()
ap.add_argument("--niter", type=int, default=5)
ap.add_argument("--nz", type=int, default=16)
ap.add_argument("--lrD", type=float, default=2e-3)
ap.add_argument("--lrG", type=float, default=1e-3)
ap.add_argument("--outf", default=".")
opt = ap.parse_args()
os.makedirs(opt.outf, exist_ok=True)
print(opt)
opt.manualSeed = 4096
print("Random Seed: ", opt.manualSeed)
random.seed(opt.manualSeed)
torch.manual_seed(opt.manualSeed)

netG = nn.Sequential(
    nn.ConvTranspose2d(opt.nz, 24, 4), nn.BatchNorm2d(24), nn.ReLU(),
    nn.ConvTranspose2d(24, 12, 4, 2, 1), nn.BatchNorm2d(12), nn.ReLU(),
    nn.ConvTranspose2d(12, 1, 4, 2, 1), nn.Tanh())
netD = nn.Sequential(
    nn.Conv2d(1, 12, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(12, 24, 4, 2, 1), nn.BatchNorm2d(24), nn.LeakyReLU(0.2),
    nn.Conv2d(24, 1, 4), nn.Flatten())
print(netG)
print(netD)
bce = nn.BCEWithLogitsLoss()
oD = torch.optim.Adam(netD.parameters(), lr=opt.lrD, betas=(0.5, 0.999))
oG = torch.optim.Adam(netG.parameters(), lr=opt.lrG, betas=(0.5, 0.999))
fixed = torch.randn(16, opt.nz, 1, 1)


def real(n):
    x = torch.zeros(n, 1, 16, 16) - 1
    for i in range(n):
        r = random.randint(2, 9)
        if random.random() < 0.5:
            x[i, 0, 3:13, r:r + 3] = 1
        else:
            x[i, 0, r:r + 3, 3:13] = 1
    return x + 0.05 * torch.randn_like(x)


N = 40
for epoch in range(opt.niter):
    for i in range(N):
        x = real(16)
        z = torch.randn(16, opt.nz, 1, 1)
        netD.zero_grad()
        outR = netD(x)
        fake = netG(z)
        outF = netD(fake.detach())
        errD = bce(outR, torch.ones_like(outR)) + bce(outF, torch.zeros_like(outF))
        errD.backward()
        oD.step()
        netG.zero_grad()
        outF2 = netD(fake)
        errG = bce(outF2, torch.ones_like(outF2))
        errG.backward()
        oG.step()
        time.sleep(0.2)
        if i % 4 == 0:
            print("[%d/%d][%d/%d] Loss_D: %.4f Loss_G: %.4f D(x): %.4f D(G(z)): %.4f / %.4f" % (
                epoch, opt.niter, i, N, errD.item(), errG.item(), outR.sigmoid().mean(), outF.sigmoid().mean(), outF2.sigmoid().mean()))
    with torch.no_grad():
        grid = netG(fixed).view(4, 4, 16, 16).permute(0, 2, 1, 3).reshape(64, 64)
    Image.fromarray(((grid.numpy() + 1) * 127.5).astype(np.uint8)).save(f"{opt.outf}/fake_epoch_{epoch:03d}.png")
    torch.save(netG.state_dict(), f"{opt.outf}/netG_epoch_{epoch}.pth")
    torch.save(netD.state_dict(), f"{opt.outf}/netD_epoch_{epoch}.pth")
