"""DDPM on 16x16 sprites."""
import logging
import os
import time

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)
logging.basicConfig(level=logging.INFO, format="%(asctime)s [%(levelname)s] %(message)s")
log = logging.getLogger("sprites")
T = 100
ab = torch.cumprod(1 - torch.linspace(1e-4, 0.05, T), 0)


def sprites(n):
    x = -torch.ones(n, 1, 16, 16)
    for i in range(n):
        a, b = torch.randint(2, 6, (2,)).tolist()
        x[i, 0, a:16 - a, b:16 - b] = 1
        if torch.rand(()) < 0.5:
            x[i, 0, 7:9, 7:9] = -1
    return x


class Net(nn.Module):
    def __init__(self, c=32):
        super().__init__()
        self.t = nn.Embedding(T, c)
        self.a = nn.Conv2d(1, c, 3, padding=1)
        self.b = nn.Conv2d(c, c, 3, padding=1)
        self.c = nn.Conv2d(c, c, 3, padding=2, dilation=2)
        self.d = nn.Conv2d(c, 1, 3, padding=1)

    def forward(self, x, t):
        h = torch.relu(self.a(x) + self.t(t)[:, :, None, None])
        h = h + torch.relu(self.b(h))
        h = h + torch.relu(self.c(h))
        return self.d(h)


def save(net, opt, step):
    path = f"ckpt/sprites_{step:05d}.pt"
    try:
        with open(path + ".tmp", "wb") as f:
            torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step}, f)
        os.replace(path + ".tmp", path)
        log.info("checkpoint %s", path)
    except OSError as e:
        # the volume is a network mount and hiccups now and then, the next one will do
        log.warning("checkpoint skipped: %s", e)


def main():
    net = Net()
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
    ema = None
    for step in range(1, 401):
        x = sprites(16)
        t = torch.randint(0, T, (16,))
        e = torch.randn_like(x)
        z = ab[t].sqrt()[:, None, None, None] * x + (1 - ab[t]).sqrt()[:, None, None, None] * e
        loss = nn.functional.mse_loss(net(z, t), e)
        opt.zero_grad()
        loss.backward()
        opt.step()
        ema = loss.item() if ema is None else 0.95 * ema + 0.05 * loss.item()
        time.sleep(0.36)
        if step % 5 == 0:
            log.info("step %d  loss %.4f", step, ema)
        if step % 40 == 0:
            save(net, opt, step)
    log.info("done")


if __name__ == "__main__":
    main()
