"""Demonstrations of seam welding: state of the torch and the seam ahead, expert velocity."""
import torch


def demos(n, seed):
    g = torch.Generator().manual_seed(seed)
    state = torch.randn(n, 14, generator=g)
    w = torch.randn(14, 6, generator=torch.Generator().manual_seed(0)) / 4
    return state, torch.tanh(state @ w) + 0.05 * torch.randn(n, 6, generator=g)
