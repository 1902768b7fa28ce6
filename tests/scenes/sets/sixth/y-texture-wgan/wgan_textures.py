"""WGAN-GP for small textures. The critic's loss is an estimate of a distance: its sign and size mean little by themselves."""
import csv
import os
import time

import torch
import torch.nn as nn

torch.set_num_threads(1)
SIDE, Z, CRITIC_STEPS, TOTAL = 12, 16, 3, 360


def textures(n, g):
    """Stripes of random phase."""
    t = torch.arange(SIDE, dtype=torch.float32)
    phase = torch.rand(n, 1, 1, generator=g) * 6.28
    return (torch.sin(t[None, None, :] * 1.05 + phase) * torch.cos(t[None, :, None] * 0.5 + phase)).flatten(1)


def penalty(critic, real, fake, g):
    a = torch.rand(len(real), 1, generator=g)
    mid = (a * real + (1 - a) * fake).requires_grad_(True)
    grad, = torch.autograd.grad(critic(mid).sum(), mid, create_graph=True)
    return ((grad.norm(dim=1) - 1) ** 2).mean()


def sliced_distance(real, fake, g):
    """What counts: the sliced Wasserstein distance between real and generated pictures."""
    d = nn.functional.normalize(torch.randn(real.shape[1], 64, generator=g), dim=0)
    return ((real @ d).sort(0).values - (fake @ d).sort(0).values).abs().mean().item()


def main():
    torch.manual_seed(13)
    g = torch.Generator().manual_seed(14)
    n = SIDE * SIDE
    gen = nn.Sequential(nn.Linear(Z, 64), nn.ReLU(), nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, n), nn.Tanh())
    critic = nn.Sequential(nn.Linear(n, 96), nn.LeakyReLU(0.2), nn.Linear(96, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
    og = torch.optim.Adam(gen.parameters(), lr=1e-3, betas=(0.0, 0.9))
    oc = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.0, 0.9))
    os.makedirs("wgan", exist_ok=True)
    table = csv.writer(open("wgan/losses.csv", "w", buffering=1))
    table.writerow(["it", "loss_D", "loss_G", "gp", "wasserstein"])
    t0 = time.time()
    for it in range(1, TOTAL + 1):
        for _ in range(CRITIC_STEPS):
            real = textures(64, g)
            fake = gen(torch.randn(64, Z, generator=g)).detach()
            gp = penalty(critic, real, fake, g)
            w = critic(real).mean() - critic(fake).mean()
            loss_d = -w + 10 * gp
            oc.zero_grad()
            loss_d.backward()
            oc.step()
        loss_g = -critic(gen(torch.randn(64, Z, generator=g))).mean()
        og.zero_grad()
        loss_g.backward()
        og.step()
        time.sleep(0.2)
        table.writerow([it, f"{loss_d.item():.4f}", f"{loss_g.item():.4f}", f"{gp.item():.4f}", f"{w.item():.4f}"])
        if it % 6 == 0:
            print(f"[{it}/{TOTAL}] Loss_D: {loss_d.item():+.3f}  Loss_G: {loss_g.item():+.3f}  GP: {gp.item():.3f}  W: {w.item():+.3f}  "
                  f"({time.time() - t0:.0f}s)", flush=True)
        if it % 60 == 0:
            with torch.no_grad():
                swd = sliced_distance(textures(1000, g), gen(torch.randn(1000, Z, generator=g)), g)
            print(f"--- sliced distance at {it}: {swd:.4f}", flush=True)
            torch.save({"gen": gen.state_dict(), "critic": critic.state_dict(), "it": it}, "wgan/last.pt")
    print("finished; samples in wgan/", flush=True)


if __name__ == "__main__":
    main()
