import torch
from torch.utils.data import TensorDataset

LEN, VOCAB, SEP = 24, 400, 2


def pairs(n, seed):
    """[query] SEP [doc]; relevant iff the doc repeats at least three tokens of the query."""
    g = torch.Generator().manual_seed(seed)
    q = torch.randint(5, VOCAB, (n, 8), generator=g)
    d = torch.randint(5, VOCAB, (n, LEN - 9), generator=g)
    y = torch.randint(0, 2, (n,), generator=g)
    for i in range(n):
        if y[i]:
            where = torch.randperm(d.shape[1], generator=g)[:5]
            d[i, where] = q[i, torch.randperm(8, generator=g)[:5]] // 50 * 50 % VOCAB + 5
    ids = torch.cat([q, torch.full((n, 1), SEP), d], dim=1)
    types = torch.cat([torch.zeros(n, 9), torch.ones(n, LEN - 9)], dim=1).long()
    return TensorDataset(ids, types, y)
