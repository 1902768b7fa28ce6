import torch
from torch import nn
from torch.utils.data import TensorDataset

FIELDS, BUCKETS, DENSE = 6, 200, 8


def clicks(n, seed):
    truth = torch.Generator().manual_seed(99)
    w = torch.randn(FIELDS, BUCKETS, generator=truth) * 0.8
    v = torch.randn(DENSE, generator=truth)
    g = torch.Generator().manual_seed(seed)
    f = torch.randint(0, BUCKETS, (n, FIELDS), generator=g)
    d = torch.randn(n, DENSE, generator=g)
    z = w[torch.arange(FIELDS), f].sum(1) + d @ v - 0.5
    y = (torch.rand(n, generator=g) < z.sigmoid()).float()
    return TensorDataset(f + torch.arange(FIELDS) * BUCKETS, d, y)


class WideDeep(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.wide = nn.EmbeddingBag(FIELDS * BUCKETS, 1, mode="sum")
        self.emb = nn.Embedding(FIELDS * BUCKETS, dim)
        self.deep = nn.Sequential(nn.Linear(FIELDS * dim + DENSE, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, f, d):
        deep = self.deep(torch.cat([self.emb(f).flatten(1), d], dim=1))
        return (self.wide(f) + deep).squeeze(1)
