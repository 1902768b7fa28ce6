"""Distances in the Poincare ball."""
import torch


class LeftTheBall(ValueError):
    """A point is not inside the unit ball any more."""


def check(x):
    n = x.norm(dim=-1)
    if bool((n >= 1).any()):
        i = int(n.argmax())
        raise LeftTheBall(f"node {i}: |x| = {n[i].item():.6f}, distances are undefined")


def distance(u, v):
    a = ((u - v) ** 2).sum(-1)
    b = (1 - (u ** 2).sum(-1)) * (1 - (v ** 2).sum(-1))
    z = 1 + 2 * a / b
    return torch.log(z + torch.sqrt(z * z - 1 + 1e-9))


def riemann(x, g):
    return g * ((1 - (x ** 2).sum(-1, keepdim=True)) ** 2 / 4)
