"""Keyword spotting. Log-mel features of each (clip, shift) are computed once and kept in cache/ as .npy."""
import hashlib
import logging
import os
import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
log = logging.getLogger("kws")
torch.manual_seed(0)
torch.set_num_threads(1)
N_CLIPS, CLASSES, BATCH = 6000, 8, 8


class Clips(Dataset):
    def __init__(self, root):
        self.root = root

    def __len__(self):
        return N_CLIPS

    def _feature(self, i, shift):
        rng = np.random.default_rng(i)
        n = np.arange(2048)
        wave = np.sin(2 * np.pi * (40 + 25 * (i % CLASSES)) * (n + shift) / 2048 * 4) + 0.7 * rng.standard_normal(2048)
        spec = np.abs(np.fft.rfft(wave.reshape(16, 128) * np.hanning(128), axis=1))[:, :32]
        return np.log1p(spec).astype(np.float32)

    def __getitem__(self, i):
        shift = int(torch.randint(0, 64, (1,)))
        key = hashlib.sha1(f"{i}/{shift}".encode()).hexdigest()
        path = os.path.join(self.root, key + ".npy")
        if os.path.exists(path):
            x = np.load(path)
        else:
            x = self._feature(i, shift)
            np.save(path, x)
        return torch.from_numpy(x)[None], i % CLASSES


def main():
    os.makedirs("ckpt", exist_ok=True)
    os.makedirs("cache/logmel", exist_ok=True)
    loader = DataLoader(Clips("cache/logmel"), batch_size=BATCH, shuffle=True, num_workers=1, prefetch_factor=2)
    net = nn.Sequential(nn.Conv2d(1, 16, 3, stride=2), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2), nn.ReLU(),
                        nn.Flatten(), nn.LazyLinear(64), nn.ReLU(), nn.Linear(64, CLASSES))
    net(torch.zeros(2, 1, 16, 32))
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    log.info("clips=%d classes=%d batch=%d steps/epoch=%d", N_CLIPS, CLASSES, BATCH, len(loader))
    step, hits, seen = 0, 0, 0
    for epoch in range(2):
        for x, y in loader:
            out = net(x)
            loss = nn.functional.cross_entropy(out, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            step += 1
            hits += (out.argmax(1) == y).sum().item()
            seen += len(y)
            time.sleep(0.3)
            if step % 10 == 0:
                log.info("epoch %d step %d loss %.4f acc %.3f", epoch, step, loss.item(), hits / seen)
                hits = seen = 0
            if step % 50 == 0:
                torch.save(net.state_dict(), f"ckpt/kws_{step}.pt")
                log.info("saved ckpt/kws_%d.pt", step)


if __name__ == "__main__":
    main()
