import os
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Xrays(Dataset):
    def __init__(self, n=6400):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        y = i % 3
        img = torch.randn(1, 24, 24, generator=g)
        img[0, 4 + 5 * y:9 + 5 * y, 6:18] += 0.8
        return img, y


def net():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, stride=2), nn.BatchNorm2d(8), nn.ReLU(),
        nn.Conv2d(8, 16, 3, stride=2), nn.BatchNorm2d(16), nn.ReLU(),
        nn.AdaptiveAvgPool2d(3), nn.Flatten(), nn.Linear(144, 3),
    )


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    with open("train.pid", "w") as f:
        f.write(str(os.getpid()))
    model = net()
    opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    loader = DataLoader(Xrays(), batch_size=8, shuffle=True, num_workers=2, persistent_workers=True)
    total = len(loader)
    for epoch in range(3):
        t0, run, hit, n = time.time(), 0.0, 0, 0
        for it, (x, y) in enumerate(loader, 1):
            out = model(x)
            loss = nn.functional.cross_entropy(out, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            run += loss.item()
            hit += (out.argmax(1) == y).sum().item()
            n += len(y)
            time.sleep(0.1)
            if it % 20 == 0:
                print(f"epoch {epoch} it {it}/{total}  loss={run / it:.4f}  acc={hit / n:.3f}  {n / (time.time() - t0):.1f} img/s")
        torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "epoch": epoch}, "xray_last.pth")
        print(f"epoch {epoch} done, saved xray_last.pth")


if __name__ == "__main__":
    main()
