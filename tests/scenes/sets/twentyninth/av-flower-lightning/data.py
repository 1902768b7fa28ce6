"""Flowers: petals of five kinds, drawn when they are asked for."""
import numpy as np
import torch
from torch.utils.data import Dataset

PETALS = (3, 4, 5, 6, 8)


class Flowers(Dataset):
    def __init__(self, n, seed, augment=False):
        self.n, self.seed, self.augment = n, seed, augment

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        r = np.random.default_rng((self.seed, i))
        kind = int(r.integers(len(PETALS)))
        yy, xx = np.mgrid[0:28, 0:28] / 13.5 - 1
        yy, xx = yy + r.uniform(-0.15, 0.15), xx + r.uniform(-0.15, 0.15)
        edge = 0.55 + 0.3 * np.cos(PETALS[kind] * (np.arctan2(yy, xx) + r.uniform(0, 6.3)))
        shape = np.hypot(xx, yy) < edge
        image = r.uniform(0.1, 0.4, (3, 1, 1)) + shape * r.uniform(0.2, 0.6, (3, 1, 1)) + r.normal(0, 0.12, (3, 28, 28))
        image = torch.tensor(image, dtype=torch.float32)
        if self.augment and torch.rand(()) < 0.5:
            image = image.flip(2)
        return image, kind
