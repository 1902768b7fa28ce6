"""Synthetic limit order book snapshots: ten levels, mid price move after 50 events."""
import torch


def snapshots(n, g):
    x = torch.randn(n, 20, 10, generator=g)
    imbalance = x[:, :, :5].mean((1, 2)) - x[:, :, 5:].mean((1, 2))
    y = 0.8 * imbalance + 0.1 * torch.randn(n, generator=g)
    return x, y
