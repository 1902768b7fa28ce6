import time

import numpy as np
import torch
from torch.utils.data import Dataset


class ClipDataset(Dataset):
    """Clips of different lengths, sorted so that a batch holds clips of about the same length."""

    def __init__(self, clips: int, seed: int = 3) -> None:
        rng = np.random.default_rng(seed)
        lengths = rng.lognormal(mean=3.0, sigma=0.8, size=clips).astype(int) + 8
        self.lengths = np.sort(lengths)
        self.lengths[-clips // 8 :] *= 12  # the "long form" part of the corpus

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, i: int):
        g = torch.Generator().manual_seed(int(i))
        n = int(self.lengths[i])
        time.sleep(0.01)  # decode
        frames = torch.randn(n, 32, 32, generator=g)
        return frames, int(frames.mean() > 0)


def collate(batch):
    longest = max(len(f) for f, _ in batch)
    out = torch.zeros(len(batch), longest, 32, 32)
    for k, (frames, _) in enumerate(batch):
        out[k, : len(frames)] = frames
    return out, torch.tensor([y for _, y in batch])
