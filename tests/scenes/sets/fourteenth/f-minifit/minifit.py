"""fastai-like mini library for the seminar"""
import time
import torch
from torch import nn


class Learner:
    def __init__(self, body, head, dls, lr):
        self.body, self.head, self.dls, self.lr = body, head, dls, lr
        self.epoch = 0

    def _groups(self, lr):
        return [p for m in (self.body, self.head) for p in m.parameters() if p.requires_grad], lr

    def freeze(self):
        for p in self.body.parameters():
            p.requires_grad_(False)

    def unfreeze(self):
        for p in self.body.parameters():
            p.requires_grad_(True)

    def validate(self):
        with torch.no_grad():
            out = [(self.head(self.body(x)), y) for x, y in self.dls[1]]
        loss = sum(nn.functional.cross_entropy(o, y).item() for o, y in out) / len(out)
        acc = sum((o.argmax(1) == y).float().mean().item() for o, y in out) / len(out)
        return loss, acc

    def fit(self, n, lr=None):
        params, lr = self._groups(lr or self.lr)
        opt = torch.optim.Adam(params, lr=lr)
        for _ in range(n):
            t, total = time.time(), 0.0
            for x, y in self.dls[0]:
                loss = nn.functional.cross_entropy(self.head(self.body(x)), y)
                opt.zero_grad()
                loss.backward()
                opt.step()
                total += loss.item()
                time.sleep(0.07)
            vl, va = self.validate()
            print(f"{self.epoch:<7d}{total / len(self.dls[0]):<13.6f}{vl:<13.6f}{va:<11.6f}{int(time.time() - t) // 60:02d}:{int(time.time() - t) % 60:02d}", flush=True)
            self.epoch += 1
