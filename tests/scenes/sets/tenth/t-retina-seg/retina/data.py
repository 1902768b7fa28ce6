import numpy as np
import torch


class Vessels(torch.utils.data.Dataset):
    """Synthetic fundus patches: a few random walks drawn on noise."""

    def __init__(self, n, size, seed):
        self.n, self.size, self.seed = n, size, seed

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        rng = np.random.default_rng(self.seed * 10007 + i)
        s = self.size
        mask = np.zeros((s, s), "float32")
        for _ in range(3):
            p = rng.integers(0, s, 2).astype(float)
            v = rng.normal(size=2)
            for _ in range(s * 2):
                v = 0.9 * v + 0.3 * rng.normal(size=2)
                p = np.clip(p + v / (np.linalg.norm(v) + 1e-6), 0, s - 1)
                mask[int(p[0]), int(p[1])] = 1
        image = 0.4 * mask + rng.normal(0.3, 0.15, (s, s))
        return torch.as_tensor(image, dtype=torch.float32)[None], torch.as_tensor(mask)[None]
