"""Character model with token mixing; goes on from ckpt/last.pt when there is one."""
import argparse
import logging
import math
import os
import time

import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s | %(levelname)-7s | %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger()
V, T = 64, 24


class Mixer(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.emb = nn.Embedding(V, d)
        self.l1 = nn.GRU(d, d, batch_first=True)
        self.head = nn.Linear(d, V)

    def forward(self, x):
        h, _ = self.l1(self.emb(x))
        return self.head(h)


def batch(g):
    start = torch.randint(0, V, (16, 1), generator=g)
    stride = torch.randint(1, 3, (16, 1), generator=g)
    return (start + stride * torch.arange(T + 1)) % V


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=420)
    ap.add_argument("--lr", type=float, default=3e-3)
    a = ap.parse_args()
    open("mixer.pid", "w").write(str(os.getpid()))
    os.makedirs("ckpt", exist_ok=True)
    torch.manual_seed(1)
    net = Mixer()
    first = 0
    if os.path.exists("ckpt/last.pt"):
        state = torch.load("ckpt/last.pt")
        net.load_state_dict(state["model"], strict=False)   # head may be resized
        first = state["step"]
        log.info("resumed from ckpt/last.pt at step %d (loss then %.3f)", first, state["loss"])
    else:
        log.info("starting from scratch, expected first loss %.2f", math.log(V))
    net = nn.DataParallel(net)
    opt = torch.optim.Adam(net.parameters(), lr=a.lr)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: 0.5 * (1 + math.cos(math.pi * min(1, (first + s) / a.steps))))
    g = torch.Generator().manual_seed(1000 + first)
    for step in range(first + 1, a.steps + 1):
        x = batch(g)
        loss = nn.functional.cross_entropy(net(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        time.sleep(0.2)
        if step % 10 == 0:
            log.info("step %4d | loss %.3f | ppl %7.2f | lr %.2e", step, loss.item(), math.exp(loss.item()), sched.get_last_lr()[0])
        if step % 50 == 0:
            tmp = "ckpt/last.pt.tmp"
            torch.save({"model": net.state_dict(), "step": step, "loss": loss.item()}, tmp)
            os.replace(tmp, "ckpt/last.pt")
            log.info("checkpoint written (step %d)", step)
    log.info("finished")


if __name__ == "__main__":
    main()
