import numpy as np
import torch
from torch.utils.data import Dataset


class Patches(Dataset):
    """Random CT patches with a sphere (nodule) or none; the edge length follows the curriculum."""

    def __init__(self, n, edge):
        self.n, self.edge = n, edge

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        rng = np.random.default_rng(i)
        e = self.edge
        vol = rng.normal(size=(1, e, e, e)).astype("float32")
        label = i % 2
        if label:
            c = rng.integers(e // 4, 3 * e // 4, 3)
            vol[0, c[0] - 3:c[0] + 3, c[1] - 3:c[1] + 3, c[2] - 3:c[2] + 3] += 2.0
        return torch.from_numpy(vol), torch.tensor(float(label))
