from __future__ import print_function

import os
import time

import torch
import torch.nn as nn
from PIL import Image

PAUSE = float(os.environ.get("PAUSE", "0.36"))
torch.set_num_threads(1)
torch.manual_seed(999)
print("Random Seed: ", 999)
EPOCHS, BATCHES, nz = 10, 44, 24
SEG = {0: "abcdef", 1: "bc", 2: "abged", 3: "abgcd", 4: "fgbc", 5: "afgcd", 6: "afgedc", 7: "abc", 8: "abcdefg", 9: "abcdfg"}
BOX = {"a": (2, 4, 4, 12), "b": (3, 8, 10, 12), "c": (8, 13, 10, 12), "d": (12, 14, 4, 12), "e": (8, 13, 4, 6), "f": (3, 8, 4, 6), "g": (7, 9, 4, 12)}
glyph = torch.zeros(10, 16, 16)
for d, segments in SEG.items():
    for s in segments:
        r0, r1, c0, c1 = BOX[s]
        glyph[d, r0:r1, c0:c1] = 1


def digits(n):
    x = glyph[torch.randint(0, 10, (n,))]
    x = torch.roll(x, (int(torch.randint(-1, 2, ())), int(torch.randint(-2, 3, ()))), (1, 2))
    return (x * (0.7 + 0.3 * torch.rand(n, 1, 1)) * 2 - 1 + 0.05 * torch.randn(n, 16, 16)).unsqueeze(1)


def init(m):
    if isinstance(m, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(m.weight, 0.0, 0.02)


netG = nn.Sequential(
    nn.ConvTranspose2d(nz, 48, 4, 1, 0, bias=False), nn.BatchNorm2d(48), nn.ReLU(True),
    nn.ConvTranspose2d(48, 24, 4, 2, 1, bias=False), nn.BatchNorm2d(24), nn.ReLU(True),
    nn.ConvTranspose2d(24, 1, 4, 2, 1, bias=False), nn.Tanh()).apply(init)
netD = nn.Sequential(
    nn.Conv2d(1, 24, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, True),
    nn.Conv2d(24, 48, 4, 2, 1, bias=False), nn.BatchNorm2d(48), nn.LeakyReLU(0.2, True),
    nn.Conv2d(48, 1, 4, 1, 0, bias=False), nn.Flatten(0)).apply(init)
criterion = nn.BCEWithLogitsLoss()
fixed = torch.randn(36, nz, 1, 1)
optD = torch.optim.Adam(netD.parameters(), lr=8e-4, betas=(0.5, 0.999))
optG = torch.optim.Adam(netG.parameters(), lr=8e-4, betas=(0.5, 0.999))
os.makedirs("out", exist_ok=True)
print("Starting Training Loop...", flush=True)
for epoch in range(EPOCHS):
    for i in range(BATCHES):
        real, B = digits(48), 48
        netD.zero_grad()
        outR = netD(real)
        errR = criterion(outR, torch.ones(B))
        fake = netG(torch.randn(B, nz, 1, 1))
        outF = netD(fake.detach())
        errF = criterion(outF, torch.zeros(B))
        (errR + errF).backward()
        optD.step()
        netG.zero_grad()
        outG = netD(fake)
        errG = criterion(outG, torch.ones(B))
        errG.backward()
        optG.step()
        time.sleep(PAUSE)
        if i % 2 == 0:
            print("[%d/%d][%d/%d]\tLoss_D: %.4f\tLoss_G: %.4f\tD(x): %.4f\tD(G(z)): %.4f / %.4f" % (
                epoch, EPOCHS, i, BATCHES, (errR + errF).item(), errG.item(), outR.sigmoid().mean(), outF.sigmoid().mean(), outG.sigmoid().mean()), flush=True)
    with torch.no_grad():
        grid = ((netG(fixed).clamp(-1, 1) + 1) * 127.5).byte().view(6, 6, 16, 16).permute(0, 2, 1, 3).reshape(96, 96)
    Image.fromarray(grid.numpy()).save("out/fake_samples_epoch_%03d.png" % epoch)
    torch.save(netG.state_dict(), "out/netG_epoch_%d.pth" % epoch)
    torch.save(netD.state_dict(), "out/netD_epoch_%d.pth" % epoch)
