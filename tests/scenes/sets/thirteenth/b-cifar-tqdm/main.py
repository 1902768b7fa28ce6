import argparse
import time

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm


class Toy(Dataset):
    def __init__(self, n, seed):
        r = np.random.RandomState(seed)
        self.y = r.randint(0, 10, n)
        self.x = r.rand(n, 3, 32, 32).astype("float32")
        for i, c in enumerate(self.y):
            self.x[i, c % 3, (c * 3):(c * 3) + 4] += 0.25
        flip = r.rand(n) < 0.15  # annotators disagree
        self.y[flip] = r.randint(0, 10, flip.sum())

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.f = nn.Sequential(nn.Conv2d(c, c, 3, padding=1), nn.BatchNorm2d(c), nn.ReLU(), nn.Conv2d(c, c, 3, padding=1), nn.BatchNorm2d(c))

    def forward(self, x):
        return torch.relu(x + self.f(x))


def run(loader, net, crit, opt=None, desc=""):
    net.train(opt is not None)
    loss_sum = right = n = 0
    with tqdm(loader, desc=desc) as bar, torch.set_grad_enabled(opt is not None):
        for x, y in bar:
            out = net(x)
            loss = crit(out, y)
            if opt:
                opt.zero_grad()
                loss.backward()
                opt.step()
            time.sleep(0.2 if opt else 0.1)
            n += len(y)
            loss_sum += loss.item() * len(y)
            right += (out.argmax(1) == y).sum().item()
            bar.set_postfix(loss=loss_sum / n, acc=100.0 * right / n)
    return loss_sum / n, 100 * right / n


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=5)
    ap.add_argument("--workers", type=int, default=2)
    a = ap.parse_args()
    torch.manual_seed(42)
    net = nn.Sequential(nn.Conv2d(3, 12, 3, stride=2, padding=1), nn.ReLU(), Block(12), Block(12), nn.AdaptiveAvgPool2d(8), nn.Flatten(), nn.Linear(768, 10))
    crit = nn.CrossEntropyLoss()
    opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, a.epochs)
    tr = DataLoader(Toy(640, 0), batch_size=16, shuffle=True, num_workers=a.workers)
    va = DataLoader(Toy(160, 1), batch_size=16, num_workers=a.workers)
    best = 0
    for ep in range(a.epochs):
        run(tr, net, crit, opt, f"train {ep}")
        _, acc = run(va, net, crit, None, f"val   {ep}")
        sched.step()
        if acc > best:
            best = acc
            torch.save({"net": net.state_dict(), "acc": acc, "epoch": ep}, "ckpt.pth")
            print("Saving..")
    print(f"Best accuracy {best:.2f}%")
