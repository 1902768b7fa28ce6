"""SKU embeddings from baskets (skip-gram with negatives). One JSON object a line."""
import argparse
import json
import time

import numpy as np
import torch
from torch import nn

SKUS, DIM = 20000, 64


def say(**kw):
    print(json.dumps({"ts": round(time.time(), 2), **kw}), flush=True)


class Baskets:
    """Reads a part of the baskets; keeps the negatives it drew, so that a later epoch need not draw them again."""

    def __init__(self):
        self.rng = np.random.default_rng(3)
        self.drawn = {}

    def batch(self, i):
        if i not in self.drawn:
            centre = self.rng.zipf(1.3, 4096) % SKUS
            other = (centre * 7 + self.rng.integers(0, 5, 4096)) % SKUS
            neg = self.rng.integers(0, SKUS, (4096, 60))
            self.drawn[i] = (centre, other, neg)
        return self.drawn[i]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=6)
    ap.add_argument("--per-epoch", type=int, default=400)
    a = ap.parse_args()
    torch.manual_seed(0)
    emb, ctx = nn.Embedding(SKUS, DIM), nn.Embedding(SKUS, DIM)
    nn.init.normal_(emb.weight, std=0.3)
    nn.init.normal_(ctx.weight, std=0.3)
    opt = torch.optim.SGD([*emb.parameters(), *ctx.parameters()], lr=20.0)
    data = Baskets()
    say(event="start", skus=SKUS, dim=DIM, epochs=a.epochs, steps_per_epoch=a.per_epoch)
    step = 0
    for ep in range(a.epochs):
        for i in range(a.per_epoch):
            c, o, n = (torch.from_numpy(z) for z in data.batch(i))
            pos = (emb(c) * ctx(o)).sum(-1)
            neg = (emb(c)[:256].unsqueeze(1) * ctx(n[:256])).sum(-1)
            loss = -nn.functional.logsigmoid(pos).mean() - nn.functional.logsigmoid(-neg).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            step += 1
            if step % 10 == 0:
                say(event="train", epoch=ep, step=step, loss=round(loss.item(), 4))
            time.sleep(0.22)
        say(event="epoch_end", epoch=ep)
    say(event="end", steps=step)


main()
