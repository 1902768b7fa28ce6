import argparse
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from tqdm import tqdm


def signs(n, seed):
    """16x16 hand signs, made of bars at four angles."""
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    ii, jj = torch.meshgrid(torch.arange(16.), torch.arange(16.), indexing="ij")
    ang = y.float() * 0.785
    d = (ii - 8) * ang.cos()[:, None, None] + (jj - 8) * ang.sin()[:, None, None]
    x = (d.abs() < 2).float() + 1.5 * torch.randn(n, 16, 16, generator=g)
    return TensorDataset(x[:, None], y)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 8, 3, padding=1)
        self.c2 = nn.Conv2d(8, 16, 3, padding=1)
        self.fc = nn.Linear(256, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        return self.fc(x.flatten(1))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=6)
    ap.add_argument("--lr", type=float, default=3e-3)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    train, val = DataLoader(signs(1280, 1), 32, shuffle=True), DataLoader(signs(320, 2), 64)
    net = Net()
    opt = torch.optim.Adam(net.parameters(), args.lr)
    for epoch in range(args.epochs):
        net.train()
        bar = tqdm(train, desc=f"epoch {epoch + 1}/{args.epochs}", ncols=90, mininterval=0.5)
        for x, y in bar:
            loss = F.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            bar.set_postfix(loss=f"{loss.item():.4f}")
            time.sleep(0.12)
        net.eval()
        with torch.no_grad():
            acc = sum((net(x).argmax(1) == y).sum().item() for x, y in val) / 320
        tqdm.write(f"val_acc={acc:.4f}")
        torch.save(net.state_dict(), "signs.pt")
    print("done, weights in signs.pt")


if __name__ == "__main__":
    main()
