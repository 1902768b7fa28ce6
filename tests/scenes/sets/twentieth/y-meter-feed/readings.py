"""Readings of the meters, as the collector hands them over (one CSV line each)."""
import numpy as np


def lines(seed=4):
    rng = np.random.default_rng(seed)
    n = 0
    while True:
        n += 1
        load = 40 + 12 * np.sin(n / 96 * 6.283) + rng.normal() * 2
        # meter 7 was exchanged for one that writes decimals the other way
        yield f"{n};{n % 9};{load:.3f}" if n < 9000 else f"{n};{n % 9};{load:.3f}".replace(".", ",")
