import time

import torch


def random_cells(n, gen, atoms=16):
    z = torch.randint(0, 3, (n, atoms), generator=gen)
    pos = torch.rand(n, atoms, 3, generator=gen) * 3
    d = torch.cdist(pos, pos)
    adj = ((d < 1.2) & (d > 0)).float()
    return z, adj / adj.sum(-1, keepdim=True).clamp_min(1)


def label(z, adj, seconds):
    """The expensive part: relax each cell. Works on its own and prints nothing, as the Fortran code does."""
    pair = torch.tensor([[0.0, 0.8, -0.5], [0.8, -0.2, 0.3], [-0.5, 0.3, 0.6]])
    out = []
    for zi, ai in zip(z, adj):
        w = pair[zi[:, None], zi[None]] * ai
        x = torch.ones(len(zi))
        end = time.time() + seconds / len(z)
        while time.time() < end:
            x = x - 0.1 * (x - 1 - 0.2 * torch.tanh(w @ x))
            time.sleep(0.004)
        out.append((w @ x).mean() + 0.1 * x.std())
    return torch.stack(out)
