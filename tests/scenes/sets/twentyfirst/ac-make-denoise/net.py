import torch
import torch.nn as nn


class Denoiser(nn.Module):
    def __init__(self, side=16, width=160):
        super().__init__()
        n = side * side
        self.f = nn.Sequential(nn.Linear(n, width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, n))

    def forward(self, x):
        return x - self.f(x)


def images(n, side=16):
    yy, xx = torch.meshgrid(torch.linspace(0, 1, side), torch.linspace(0, 1, side), indexing="ij")
    k = torch.rand(n, 2, 1, 1) * 8
    return torch.sin(k[:, 0] * yy + k[:, 1] * xx).reshape(n, -1)
