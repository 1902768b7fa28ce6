"""WGAN-GP on detector pulses. Critic loss is negative and its size shrinks slowly, the generator's wanders: that is how it looks."""
import os
import time

import torch
from torch import nn

STEPS = 420
N_CRITIC = 3


def pulses(n):
    t = torch.linspace(0, 1, 24)
    start = 0.2 + 0.3 * torch.rand(n, 1)
    height = 1 + 0.5 * torch.randn(n, 1)
    shape = (t > start) * height * torch.exp(-6 * (t - start))
    return shape + 0.05 * torch.randn(n, 24)


def penalty(critic, real, fake):
    mix = torch.rand(len(real), 1)
    x = (mix * real + (1 - mix) * fake).requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    return ((g.norm(dim=1) - 1) ** 2).mean()


def rule(char="-"):
    print("+" + char * 8 + "+" + char * 12 + "+" + char * 12 + "+" + char * 12 + "+" + char * 10 + "+", flush=True)


def main():
    torch.manual_seed(13)
    torch.set_num_threads(1)
    gen = nn.Sequential(nn.Linear(8, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 24))
    critic = nn.Sequential(nn.Linear(24, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
    opt_g = torch.optim.Adam(gen.parameters(), lr=4e-4, betas=(0.0, 0.9))
    opt_c = torch.optim.Adam(critic.parameters(), lr=8e-4, betas=(0.0, 0.9))
    os.makedirs("samples", exist_ok=True)
    rule("=")
    print(f"|{'step':^8}|{'critic':^12}|{'generator':^12}|{'W dist':^12}|{'grad pen':^10}|", flush=True)
    rule("=")
    for step in range(1, STEPS + 1):
        for _ in range(N_CRITIC):
            real, fake = pulses(64), gen(torch.randn(64, 8)).detach()
            wdist = critic(real).mean() - critic(fake).mean()
            gp = penalty(critic, real, fake)
            loss_c = -wdist + 10 * gp
            opt_c.zero_grad()
            loss_c.backward()
            opt_c.step()
        loss_g = -critic(gen(torch.randn(64, 8))).mean()
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
        time.sleep(0.18)
        if step % 5 == 0:
            print(f"|{step:^8}|{loss_c.item():^12.4f}|{loss_g.item():^12.4f}|{wdist.item():^12.4f}|{gp.item():^10.4f}|", flush=True)
        if step % 100 == 0:
            rule()
            with torch.no_grad():
                torch.save({"gen": gen.state_dict(), "critic": critic.state_dict(), "samples": gen(torch.randn(256, 8))},
                           f"samples/step_{step}.pt")
    rule("=")
    print("finished", flush=True)


if __name__ == "__main__":
    main()
