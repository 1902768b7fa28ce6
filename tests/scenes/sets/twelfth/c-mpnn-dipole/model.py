import torch
from torch import nn


class MPNN(nn.Module):
    def __init__(self, hidden, rounds, kinds=6):
        super().__init__()
        self.embed = nn.Embedding(kinds, hidden)
        self.msg = nn.ModuleList(nn.Sequential(nn.Linear(2 * hidden + 1, hidden), nn.SiLU(), nn.Linear(hidden, hidden)) for _ in range(rounds))
        self.upd = nn.ModuleList(nn.GRUCell(hidden, hidden) for _ in range(rounds))
        self.out = nn.Sequential(nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, 1))

    def forward(self, z, pos):
        b, n = z.shape
        h = self.embed(z)
        dist = (pos[:, :, None] - pos[:, None]).norm(dim=-1, keepdim=True)
        near = (dist < 2.0).float()
        for msg, upd in zip(self.msg, self.upd):
            pair = torch.cat([h[:, :, None].expand(b, n, n, -1), h[:, None].expand(b, n, n, -1), dist], -1)
            m = (msg(pair) * near).sum(2)
            h = upd(m.reshape(b * n, -1), h.reshape(b * n, -1)).reshape(b, n, -1)
        charge = self.out(h)
        charge = charge - charge.mean(1, keepdim=True)
        return (charge * pos).sum(1)
