import torch

USERS, ITEMS, DIM = 200, 300, 8
_g = torch.Generator().manual_seed(21)
U, V = torch.randn(USERS, 4, generator=_g), torch.randn(ITEMS, 4, generator=_g)


def ratings(n, g):
    u, i = torch.randint(0, USERS, (n,), generator=g), torch.randint(0, ITEMS, (n,), generator=g)
    return u, i, (U[u] * V[i]).sum(1) + torch.randn(n, generator=g) * 0.3
