import time

import torch
from torch import nn

torch.manual_seed(999)
NZ, B, EPOCHS, ITERS = 16, 16, 14, 50


def tiles(n):
    """smooth stripes with a random phase, 16 x 16, in [-1, 1]"""
    ph = torch.rand(n, 1, 1, 1) * 6.28
    k = torch.randint(1, 3, (n, 1, 1, 1)).float()
    x = torch.linspace(0, 6.28, 16).view(1, 1, 1, 16).expand(n, 1, 16, 16)
    return torch.sin(k * x + ph) + 0.05 * torch.randn(n, 1, 16, 16)


netG = nn.Sequential(
    nn.ConvTranspose2d(NZ, 32, 4, 1, 0), nn.BatchNorm2d(32), nn.ReLU(),
    nn.ConvTranspose2d(32, 16, 4, 2, 1), nn.BatchNorm2d(16), nn.ReLU(),
    nn.ConvTranspose2d(16, 1, 4, 2, 1), nn.Tanh())
netD = nn.Sequential(
    nn.Conv2d(1, 16, 4, 2, 1), nn.LeakyReLU(0.2),
    nn.Conv2d(16, 32, 4, 2, 1), nn.LeakyReLU(0.2),
    nn.Conv2d(32, 1, 4, 1, 0), nn.Sigmoid(), nn.Flatten())
criterion = nn.BCELoss()
optD = torch.optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
optG = torch.optim.Adam(netG.parameters(), lr=1e-3, betas=(0.5, 0.999))
# lower the rates late in the run
schedD = torch.optim.lr_scheduler.MultiStepLR(optD, [4, 8], gamma=1000)
schedG = torch.optim.lr_scheduler.MultiStepLR(optG, [4, 8], gamma=0.1)
ones, zeros = torch.ones(B, 1), torch.zeros(B, 1)
fixed = torch.randn(8, NZ, 1, 1)

print("Starting Training Loop...", flush=True)
for epoch in range(EPOCHS):
    for i in range(ITERS):
        netD.zero_grad()
        real = tiles(B)
        out = netD(real)
        errD = criterion(out, ones)
        D_x = out.mean().item()
        fake = netG(torch.randn(B, NZ, 1, 1))
        out = netD(fake.detach())
        errD = errD + criterion(out, zeros)
        D_G_z1 = out.mean().item()
        errD.backward()
        optD.step()
        netG.zero_grad()
        out = netD(fake)
        errG = criterion(out, ones)
        errG.backward()
        D_G_z2 = out.mean().item()
        optG.step()
        time.sleep(0.2)
        if i % 10 == 0:
            print("[%d/%d][%d/%d]\tLoss_D: %.4f\tLoss_G: %.4f\tD(x): %.4f\tD(G(z)): %.4f / %.4f"
                  % (epoch, EPOCHS, i, ITERS, errD.item(), errG.item(), D_x, D_G_z1, D_G_z2), flush=True)
    schedD.step()
    schedG.step()
    with torch.no_grad():
        torch.save({"G": netG.state_dict(), "grid": netG(fixed)}, f"tiles_epoch_{epoch}.pt")
