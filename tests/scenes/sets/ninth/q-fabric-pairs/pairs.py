import torch
from torch import nn


class Pairs(torch.utils.data.Dataset):
    """Image/caption features; captions shorter than two tokens carry no target."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.img = torch.randn(n, 32, generator=g)
        self.txt = self.img @ torch.randn(32, 24, generator=torch.Generator().manual_seed(5)) * .2
        self.txt += torch.randn(n, 24, generator=g) * .1
        self.length = torch.randint(2, 20, (n,), generator=g)

    def __len__(self):
        return len(self.img)

    def __getitem__(self, i):
        return self.img[i], self.txt[i], self.length[i]


class TwoTower(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 16))
        self.b = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 16))

    def forward(self, img, txt):
        return nn.functional.normalize(self.a(img), dim=1), nn.functional.normalize(self.b(txt), dim=1)
