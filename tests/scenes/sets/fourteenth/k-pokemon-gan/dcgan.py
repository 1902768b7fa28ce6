# DCGAN tutorial with my own sprites
import random, time
import torch
import torch.nn as nn

manualSeed = 999
print("Random Seed: ", manualSeed)
random.seed(manualSeed); torch.manual_seed(manualSeed)
nz, num_epochs, iters = 16, 6, 60
base = torch.tanh(torch.randn(6, 3, 16, 16) * 2)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, 32, 4, 1, 0), nn.BatchNorm2d(32), nn.ReLU(True),
            nn.ConvTranspose2d(32, 16, 4, 2, 1), nn.BatchNorm2d(16), nn.ReLU(True),
            nn.ConvTranspose2d(16, 3, 4, 2, 1), nn.Tanh())

    def forward(self, z):
        return self.main(z)


netG = Generator()
netD = nn.Sequential(nn.Conv2d(3, 16, 4, 2, 1), nn.LeakyReLU(.2), nn.Conv2d(16, 32, 4, 2, 1),
                     nn.BatchNorm2d(32), nn.LeakyReLU(.2), nn.Conv2d(32, 1, 4, 1, 0), nn.Sigmoid())
criterion = nn.BCELoss()
optD = torch.optim.Adam(netD.parameters(), lr=2e-4, betas=(.5, .999))
optG = torch.optim.Adam(netG.parameters(), lr=2e-4, betas=(.5, .999))
print("Starting Training Loop...")
for epoch in range(num_epochs):
    for i in range(iters):
        real = (base[torch.randint(0, 6, (16,))] + .1 * torch.randn(16, 3, 16, 16)).clamp(-1, 1)
        netD.zero_grad()
        out = netD(real).view(-1)
        errD_real = criterion(out, torch.full((16,), 1.)); errD_real.backward()
        D_x = out.mean().item()
        fake = netG(torch.randn(16, nz, 1, 1))
        out = netD(fake.detach()).view(-1)
        errD_fake = criterion(out, torch.zeros(16)); errD_fake.backward()
        D_G_z1 = out.mean().item()
        optD.step()
        netG.zero_grad()
        out = netD(fake).view(-1)
        errG = criterion(out, torch.ones(16)); errG.backward()
        optG.step()
        time.sleep(.16)
        if i % 10 == 0:
            print('[%d/%d][%d/%d]\tLoss_D: %.4f\tLoss_G: %.4f\tD(x): %.4f\tD(G(z)): %.4f / %.4f'
                  % (epoch, num_epochs, i, iters, (errD_real + errD_fake).item(), errG.item(), D_x, D_G_z1, out.mean().item()))
    torch.save({"G": netG.state_dict(), "D": netD.state_dict()}, f"gan_{epoch}.pt")
print("Done. Samples in gan_5.pt")
