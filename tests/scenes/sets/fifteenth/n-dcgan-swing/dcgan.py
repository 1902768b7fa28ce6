# after https://github.com/pytorch/examples/tree/main/dcgan, on 2-D rings
import random
import time

import torch
import torch.nn as nn

nz, nh, batch, niter = 4, 48, 64, 6
seed = random.Random(999).randint(1, 10000)
print("Random Seed: ", seed, flush=True)
torch.manual_seed(seed)
torch.set_num_threads(1)


def ring(n):
    k = torch.randint(0, 8, (n,)).float() * (2 * torch.pi / 8)
    return torch.stack([k.cos(), k.sin()], 1) * 2 + 0.03 * torch.randn(n, 2)


netG = nn.Sequential(nn.Linear(nz, nh), nn.ReLU(True), nn.Linear(nh, nh), nn.ReLU(True), nn.Linear(nh, 2))
netD = nn.Sequential(nn.Linear(2, nh), nn.LeakyReLU(0.2), nn.Linear(nh, nh), nn.LeakyReLU(0.2), nn.Linear(nh, 1), nn.Sigmoid())
criterion = nn.BCELoss()
fixed_noise = torch.randn(64, nz)
optD = torch.optim.Adam(netD.parameters(), lr=0.004, betas=(0.5, 0.999))
optG = torch.optim.Adam(netG.parameters(), lr=0.002, betas=(0.5, 0.999))
n_batches = 60
for epoch in range(niter):
    for i in range(n_batches):
        real, fake = ring(batch), netG(torch.randn(batch, nz))
        ones, zeros = torch.ones(batch, 1), torch.zeros(batch, 1)
        netD.zero_grad()
        out = netD(real)
        D_x = out.mean().item()
        errD = criterion(out, ones)
        out = netD(fake.detach())
        D_G_z1 = out.mean().item()
        errD = errD + criterion(out, zeros)
        errD.backward()
        optD.step()
        netG.zero_grad()
        out = netD(fake)
        errG = criterion(out, ones)
        errG.backward()
        D_G_z2 = out.mean().item()
        optG.step()
        time.sleep(0.12)
        if i % 4 == 0:
            print("[%d/%d][%d/%d] Loss_D: %.4f Loss_G: %.4f D(x): %.4f D(G(z)): %.4f / %.4f"
                  % (epoch, niter, i, n_batches, errD.item(), errG.item(), D_x, D_G_z1, D_G_z2), flush=True)
    with torch.no_grad():
        torch.save(netG(fixed_noise), "fake_samples_epoch_%03d.pt" % epoch)
    torch.save(netG.state_dict(), "netG_epoch_%d.pth" % epoch)
    torch.save(netD.state_dict(), "netD_epoch_%d.pth" % epoch)
