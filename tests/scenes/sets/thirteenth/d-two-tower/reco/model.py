import torch
from torch import nn
class TwoTower(nn.Module):
    def __init__(self, users=300, items=400, d=16):
        super().__init__(); self.u = nn.Embedding(users, d); self.i = nn.Embedding(items, d)
    def scores(self, u): return self.u(u) @ self.i.weight.T
    def loss(self, u, i):
        q = self.u(u) @ self.i(i).T
        return nn.functional.cross_entropy(q, torch.arange(len(u)))
