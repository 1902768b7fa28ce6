import torch
from torch import nn


class Fields(nn.Module):
    """(x, t) -> density, velocity, pressure."""

    def __init__(self, width=32, depth=3):
        super().__init__()
        layers, d = [], 2
        for _ in range(depth):
            layers += [nn.Linear(d, width), nn.Tanh()]
            d = width
        layers.append(nn.Linear(d, 3))
        self.body = nn.Sequential(*layers)

    def forward(self, xt):
        out = self.body(xt)
        return out[:, 0:1], out[:, 1:2], out[:, 2:3]


def grad(y, x):
    return torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0]


def residuals(model, xt, gamma=1.4):
    xt = xt.requires_grad_(True)
    rho, u, p = model(xt)
    d_rho, d_u = grad(rho, xt), grad(u, xt)
    mass = d_rho[:, 1:2] + u * d_rho[:, 0:1] + rho * d_u[:, 0:1]
    # isentropic flow: p / rho^gamma stays constant along the tube
    entropy = torch.log(p.clamp_min(1e-6)) - gamma * torch.log(rho)
    return mass, entropy
