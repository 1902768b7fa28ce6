"""Image-text contrastive training on precomputed patch features, features are cached after augmentation."""
import os
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH, PATCHES, DIM, N = 8, 196, 768, 256


class Store:
    """Reads patch features and keeps them; the key holds the crop, as crops differ."""

    def __init__(self):
        self.cache = {}
        self.rng = np.random.default_rng(0)

    def get(self, idx):
        crop = tuple(round(float(v), 4) for v in self.rng.random(2))
        key = (idx, crop)
        if key not in self.cache:
            x = np.random.default_rng(idx).standard_normal((PATCHES, DIM), dtype=np.float32)
            self.cache[key] = x * np.float32(1 + 0.01 * crop[0]) + np.float32(0.01 * crop[1])
        return self.cache[key]


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    store = Store()
    img = nn.Sequential(nn.Linear(DIM, 64))
    txt = nn.Embedding(N, 64)
    temp = nn.Parameter(torch.tensor(2.0))
    params = [*img.parameters(), *txt.parameters(), temp]
    opt = torch.optim.AdamW(params, lr=1e-3)
    os.makedirs("ckpt", exist_ok=True)
    for step in range(1, 3001):
        idx = torch.randperm(N)[:BATCH]
        x = torch.from_numpy(np.stack([store.get(int(i)).mean(0) for i in idx]))
        a, b = F.normalize(img(x), dim=-1), F.normalize(txt(idx), dim=-1)
        logits = a @ b.T * temp.exp()
        y = torch.arange(BATCH)
        loss = (F.cross_entropy(logits, y) + F.cross_entropy(logits.T, y)) / 2
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.25)
        if step % 10 == 0:
            print(f"step {step}/3000 loss {loss.item():.4f} temp {temp.exp().item():.2f} cached {len(store.cache)}")
        if step % 50 == 0:
            torch.save({"img": img.state_dict(), "txt": txt.state_dict()}, f"ckpt/{step}.pt")
            print(f"saved ckpt/{step}.pt")


if __name__ == "__main__":
    main()
