import torch
from torch import nn


class Reranker(nn.Module):
    def __init__(self, dim=16, hidden=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim * 2, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, q, d):
        if q.shape != d.shape:
            raise ValueError(f"query and document differ in shape: {tuple(q.shape)} and {tuple(d.shape)}")
        return self.net(torch.cat([q * d, (q - d).abs()], -1))[..., 0]


def batch(n, g, dim=16):
    q = torch.randn(n, dim, generator=g)
    y = (torch.rand(n, generator=g) > 0.5).float()
    noise = torch.randn(n, dim, generator=g)
    return q, torch.where(y[:, None] > 0, q + 0.6 * noise, noise), y
