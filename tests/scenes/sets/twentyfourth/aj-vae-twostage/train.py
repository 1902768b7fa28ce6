"""Two stages: a VAE on toy spectra, then a classifier on its latent space."""
import os
import sys
import time
from pathlib import Path

import torch
from torch import nn

RUN = Path("runs/vae")
STAGE1, STAGE2 = 170, 400


def spectra(n):
    k = torch.randint(0, 3, (n,))
    grid = torch.linspace(0, 1, 48)
    centre = 0.2 + 0.3 * k[:, None] + 0.03 * torch.randn(n, 1)
    return torch.exp(-(((grid - centre) / 0.06) ** 2)) + 0.05 * torch.randn(n, 48), k


def export(obj, path):
    if path.exists():
        answer = input(f"{path} exists already. Overwrite? [y/N] ")
        if answer.strip().lower() not in ("y", "yes"):
            path = path.with_name(f"{path.stem}_{int(time.time())}{path.suffix}")
    torch.save(obj, path)
    print(f"exported {path}", flush=True)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    RUN.mkdir(parents=True, exist_ok=True)
    Path("pid").write_text(str(os.getpid()))
    enc = nn.Sequential(nn.Linear(48, 64), nn.ReLU(), nn.Linear(64, 8))
    dec = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 48))
    opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=2e-3)
    print("stage 1/2: vae", flush=True)
    for step in range(1, STAGE1 + 1):
        x, _ = spectra(64)
        mu, logvar = enc(x).chunk(2, 1)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        rec = ((dec(z) - x) ** 2).sum(1).mean()
        kl = 0.5 * (mu**2 + logvar.exp() - 1 - logvar).sum(1).mean()
        loss = rec + 0.1 * kl
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.3)
        if step % 5 == 0:
            print(f"[{time.strftime('%H:%M:%S')}] stage 1 step {step}/{STAGE1} rec {rec:.3f} kl {kl:.3f}", flush=True)
        if step % 50 == 0:
            torch.save({"enc": enc.state_dict(), "dec": dec.state_dict()}, RUN / f"step_{step:04d}.pt")
            print(f"saved {RUN}/step_{step:04d}.pt", flush=True)
    export(enc.state_dict(), RUN / "encoder.pt")

    print("stage 2/2: classifier on the latent space", flush=True)
    head = nn.Linear(4, 3)
    opt = torch.optim.Adam(head.parameters(), lr=1e-2)
    for step in range(1, STAGE2 + 1):
        x, k = spectra(64)
        with torch.no_grad():
            mu = enc(x)[:, :4]
        loss = nn.functional.cross_entropy(head(mu), k)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.3)
        if step % 5 == 0:
            print(f"[{time.strftime('%H:%M:%S')}] stage 2 step {step}/{STAGE2} loss {loss:.4f}", flush=True)
    export(head.state_dict(), RUN / "head.pt")


if __name__ == "__main__":
    sys.exit(main())
