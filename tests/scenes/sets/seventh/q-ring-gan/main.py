"""GAN on 8x8 pictures of a spot on a ring; losses and printing as in the DCGAN example."""
import argparse
import os
import random
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import torch
import torch.nn as nn

ap = argparse.ArgumentParser()
ap.add_argument("--niter", type=int, default=12)
ap.add_argument("--batches", type=int, default=40)
ap.add_argument("--lr", type=float, default=2e-3)
ap.add_argument("--outf", default="samples")
ap.add_argument("--manualSeed", type=int, default=3407)
opt = ap.parse_args()
print(opt)
os.makedirs(opt.outf, exist_ok=True)
print("Random Seed: ", opt.manualSeed)
random.seed(opt.manualSeed)
torch.manual_seed(opt.manualSeed)
torch.set_num_threads(1)

netG = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.Tanh())
netD = nn.Sequential(nn.Linear(64, 96), nn.LeakyReLU(0.2), nn.Linear(96, 96), nn.LeakyReLU(0.2), nn.Linear(96, 1), nn.Sigmoid())
print(netG)
print(netD)
criterion = nn.BCELoss()
fixed_noise = torch.randn(256, 16)
optD = torch.optim.Adam(netD.parameters(), lr=opt.lr, betas=(0.5, 0.999))
optG = torch.optim.Adam(netG.parameters(), lr=opt.lr, betas=(0.5, 0.999))


GRID = torch.stack(torch.meshgrid(torch.linspace(-1, 1, 8), torch.linspace(-1, 1, 8), indexing="ij"), -1).view(64, 2)


def real(n):
    """8 x 8 pictures with one bright spot on a ring"""
    k = torch.randint(8, (n,)) * (2 * torch.pi / 8)
    at = torch.stack([k.cos(), k.sin()], 1) * 0.65
    spot = torch.exp(-((GRID[None] - at[:, None]) ** 2).sum(-1) / 0.06)
    return (2 * spot - 1 + 0.02 * torch.randn(n, 64)).clamp(-1, 1)


for epoch in range(opt.niter):
    for i in range(opt.batches):
        for _ in range(3):
            netD.zero_grad()
            x = real(64)
            out = netD(x).view(-1)
            errD_real = criterion(out, torch.ones(64))
            fake = netG(torch.randn(64, 16))
            out_f = netD(fake.detach()).view(-1)
            errD = errD_real + criterion(out_f, torch.zeros(64))
            errD.backward()
            optD.step()
            netG.zero_grad()
            out_g = netD(fake).view(-1)
            errG = criterion(out_g, torch.ones(64))
            errG.backward()
            optG.step()
        if i % 5 == 0:
            print("[%d/%d][%d/%d] Loss_D: %.4f Loss_G: %.4f D(x): %.4f D(G(z)): %.4f / %.4f" % (
                epoch, opt.niter, i, opt.batches, errD.item(), errG.item(), out.mean().item(),
                out_f.mean().item(), out_g.mean().item()), flush=True)
        time.sleep(0.17)
    with torch.no_grad():
        torch.save(netG(fixed_noise), f"{opt.outf}/fake_samples_epoch_{epoch:03d}.pt")
    torch.save(netG.state_dict(), f"{opt.outf}/netG_epoch_{epoch}.pth")
    torch.save(netD.state_dict(), f"{opt.outf}/netD_epoch_{epoch}.pth")
