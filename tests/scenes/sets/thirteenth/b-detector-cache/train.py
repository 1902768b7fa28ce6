import argparse
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


class Cars:
    """Random crops of parking lot photos; --cache-images keeps what was decoded in RAM."""

    def __init__(self, n, cache):
        self.n = n
        self.cache = {} if cache else None

    def photo(self, i):
        rng = np.random.default_rng(i)
        img = rng.random((3, 140, 140), dtype=np.float32)
        x, y = rng.integers(5, 105, 2)
        img[:, y:y + 30, x:x + 30] += 1.0
        return img, (x + 15) / 140, (y + 15) / 140

    def item(self, i):
        scale = float(np.random.uniform(0.8, 1.2))
        key = (i, scale)
        if self.cache is not None and key in self.cache:
            return self.cache[key]
        img, x, y = self.photo(i)
        got = torch.from_numpy(img * scale), torch.tensor([x, y], dtype=torch.float32)
        if self.cache is not None:
            self.cache[key] = got
        return got

    def batches(self, size):
        order = np.random.permutation(self.n)
        for k in range(0, self.n - size + 1, size):
            items = [self.item(int(i)) for i in order[k:k + size]]
            yield torch.stack([a for a, _ in items]), torch.stack([b for _, b in items])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--cache-images", action="store_true")
    p.add_argument("--epochs", type=int, default=20)
    a = p.parse_args()
    np.random.seed(0)
    torch.manual_seed(0)
    data = Cars(64, a.cache_images)
    net = nn.Sequential(nn.Conv2d(3, 8, 5, stride=5), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2), nn.ReLU(),
                        nn.AdaptiveAvgPool2d(8), nn.Flatten(), nn.Linear(1024, 2), nn.Sigmoid())
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    print(f"{'epoch':>7} {'iter':>6} {'box_loss':>9} {'s/it':>6}")
    it = 0
    for epoch in range(a.epochs):
        for x, y in data.batches(8):
            t0 = time.time()
            loss = F.smooth_l1_loss(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            time.sleep(0.3)
            it += 1
            print(f"{epoch + 1:>4}/{a.epochs:<2} {it:>6} {loss.item():>9.5f} {time.time() - t0:>6.2f}")
        torch.save(net.state_dict(), "last.pt")
    print("20 epochs completed")


main()
