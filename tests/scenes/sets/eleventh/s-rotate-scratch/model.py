import torch
from torch import nn


class Mixer(nn.Module):
    def __init__(self, tokens=16, dim=300):
        super().__init__()
        self.inp = nn.Linear(8, dim)
        self.tok = nn.Sequential(nn.Linear(tokens, 32), nn.GELU(), nn.Linear(32, tokens))
        self.chan = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, dim))
        self.out = nn.Linear(dim, 3)

    def forward(self, x):
        h = self.inp(x)
        h = h + self.tok(h.transpose(1, 2)).transpose(1, 2)
        return self.out((h + self.chan(h)).mean(1))


def batch(n, g):
    y = torch.randint(0, 3, (n,), generator=g)
    x = torch.randn(n, 16, 8, generator=g)
    x[torch.arange(n), y * 5] += 1.2
    return x, y
