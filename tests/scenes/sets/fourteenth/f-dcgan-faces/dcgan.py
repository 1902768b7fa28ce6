# DCGAN tutorial, shrunk so that it runs on my small box
import time
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim

manualSeed = 999
print("Random Seed: ", manualSeed)
torch.manual_seed(manualSeed)
nz, ngf, ndf, batch_size, num_epochs, lr, beta1 = 16, 8, 8, 32, 4, 0.0004, 0.5

yy, xx = np.mgrid[0:16, 0:16]
rng = np.random.default_rng(0)
def face():
    cx, cy, r = rng.uniform(6, 9), rng.uniform(6, 9), rng.uniform(4, 6)
    img = ((xx - cx) ** 2 + (yy - cy) ** 2 < r * r) * 1.0
    img[int(cy) - 1, int(cx) - 2] = img[int(cy) - 1, int(cx) + 2] = -1
    return img * 1.6 - 0.8
real = torch.tensor(np.stack([face() for _ in range(1600)]), dtype=torch.float32)[:, None]

netG = nn.Sequential(
    nn.ConvTranspose2d(nz, ngf * 2, 4, 1, 0, bias=False), nn.BatchNorm2d(ngf * 2), nn.ReLU(True),
    nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False), nn.BatchNorm2d(ngf), nn.ReLU(True),
    nn.ConvTranspose2d(ngf, 1, 4, 2, 1, bias=False), nn.Tanh())
netD = nn.Sequential(
    nn.Conv2d(1, ndf, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False), nn.BatchNorm2d(ndf * 2), nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(ndf * 2, 1, 4, 1, 0, bias=False), nn.Flatten(), nn.Sigmoid())
criterion = nn.BCELoss()
optimizerD = optim.Adam(netD.parameters(), lr=lr, betas=(beta1, 0.999))
optimizerG = optim.Adam(netG.parameters(), lr=lr, betas=(beta1, 0.999))


def frechet(n):
    """poor man's FID on pixel statistics, in small pieces because of the RAM"""
    feats = []
    with torch.no_grad():
        for _ in range(n // 20):
            feats.append(netG(torch.randn(20, nz, 1, 1)).flatten(1))
            time.sleep(0.22)
    f, r = torch.cat(feats), real.flatten(1)
    return ((f.mean(0) - r.mean(0)) ** 2).sum().item() + ((f.std(0) - r.std(0)) ** 2).sum().item()


print("Starting Training Loop...", flush=True)
for epoch in range(num_epochs):
    for i, data in enumerate(real[torch.randperm(len(real))].split(batch_size)):
        b = len(data)
        netD.zero_grad()
        out = netD(data)
        errD_real = criterion(out, torch.full_like(out, 0.9))
        errD_real.backward()
        D_x = out.mean().item()
        fake = netG(torch.randn(b, nz, 1, 1))
        out = netD(fake.detach())
        errD_fake = criterion(out, torch.zeros_like(out))
        errD_fake.backward()
        D_G_z1 = out.mean().item()
        optimizerD.step()
        netG.zero_grad()
        out = netD(fake)
        errG = criterion(out, torch.ones_like(out))
        errG.backward()
        optimizerG.step()
        time.sleep(0.2)
        if i % 10 == 0:
            print('[%d/%d][%d/%d]\tLoss_D: %.4f\tLoss_G: %.4f\tD(x): %.4f\tD(G(z)): %.4f / %.4f'
                  % (epoch, num_epochs, i, len(real) // batch_size, (errD_real + errD_fake).item(), errG.item(), D_x, D_G_z1, out.mean().item()), flush=True)
    print("computing FID on 2000 samples...", flush=True)
    print(f"FID after epoch {epoch}: {frechet(2000):.2f}", flush=True)
    torch.save(netG.state_dict(), f"netG_{epoch}.pth")
