import os
import time

import torch
from torch import nn


class VAE(nn.Module):
    def __init__(self, d=64, z=6):
        super().__init__()
        self.enc, self.mu, self.lv = nn.Linear(d, 256), nn.Linear(256, z), nn.Linear(256, z)
        self.dec = nn.Sequential(nn.Linear(z, 256), nn.ReLU(), nn.Linear(256, d))

    def forward(self, x):
        h = torch.relu(self.enc(x))
        mu, lv = self.mu(h), self.lv(h)
        z = mu + torch.randn_like(mu) * (0.5 * lv).exp()
        return self.dec(z), mu, lv


def archive(path, folder, rate=16384):
    """Cold storage: we are asked to stay below 16 kB/s."""
    os.makedirs(folder, exist_ok=True)
    with open(path, "rb") as src, open(os.path.join(folder, os.path.basename(path)), "wb") as dst:
        while chunk := src.read(rate):
            dst.write(chunk)
            dst.flush()
            time.sleep(1)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = VAE()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    basis = torch.randn(6, 64)
    for epoch in range(1, 4):
        for it in range(1, 151):
            x = torch.tanh(torch.randn(32, 6) @ basis)
            y, mu, lv = model(x)
            rec = ((x - y) ** 2).sum(1).mean()
            kl = -0.5 * (1 + lv - mu**2 - lv.exp()).sum(1).mean()
            loss = rec + kl
            opt.zero_grad()
            loss.backward()
            opt.step()
            time.sleep(0.08)
            if it % 15 == 0:
                print(f"ep {epoch} it {it}: elbo {-loss.item():.3f} rec {rec.item():.3f} kl {kl.item():.3f}")
        path = f"vae_ep{epoch}.pt"
        torch.save({"model": model.state_dict(), "opt": opt.state_dict()}, path)
        print(f"ep {epoch}: archiving {path} ({os.path.getsize(path) / 1e6:.1f} MB)")
        archive(path, "archive")
        print(f"ep {epoch}: archived")
    print("done")


if __name__ == "__main__":
    main()
