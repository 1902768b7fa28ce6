import torch


def probe(n, t_max, gen):
    """Interferometer readings: the density in the middle falls while the gas is drawn off."""
    x = torch.rand(n, 1, generator=gen) * 2 - 1
    t = torch.rand(n, 1, generator=gen) * t_max
    rho = (1.0 - 1.25 * t * torch.exp(-10 * x**2)).clamp_min(0.002)
    rho = rho + 0.01 * torch.randn(n, 1, generator=gen)
    return torch.cat([x, t], 1), rho


def collocation(n, t_max, gen):
    x = torch.rand(n, 1, generator=gen) * 2 - 1
    t = torch.rand(n, 1, generator=gen) * t_max
    return torch.cat([x, t], 1)
