import argparse
import logging
import time

import torch
import torch.nn.functional as F
from rich.console import Console
from rich.table import Table
from torch import nn
from torch.utils.data import DataLoader, random_split

from .tiles import Tiles, collate

logging.basicConfig(level=logging.INFO, format="%(levelname).1s %(asctime)s %(process)d %(name)s] %(message)s")
log = logging.getLogger("histo.train")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--slides")
    p.add_argument("--epochs", type=int, default=5)
    a = p.parse_args()
    torch.manual_seed(0)
    train, val = random_split(Tiles(), [340, 80])
    tl = DataLoader(train, 10, shuffle=True, num_workers=2, collate_fn=collate)
    vl = DataLoader(val, 20, collate_fn=collate)
    net = nn.Sequential(nn.Conv2d(3, 8, 5, stride=2), nn.ReLU(), nn.Conv2d(8, 8, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(288, 2))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    rows = []
    for epoch in range(1, a.epochs + 1):
        total = 0.0
        for i, (x, y) in enumerate(tl, 1):
            loss = F.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
            time.sleep(0.3)
            if i % 8 == 0:
                log.info("epoch %d batch %d/%d loss %.4f", epoch, i, len(tl), total / i)
        with torch.no_grad():
            hits = [(net(x).argmax(1) == y).float().mean().item() for x, y in vl]
        rows.append((epoch, total / len(tl), sum(hits) / len(hits)))
        table = Table("epoch", "loss", "val acc", title="tumour tiles")
        for e, l, acc in rows:
            table.add_row(str(e), f"{l:.4f}", f"{acc:.3f}")
        Console(width=60).print(table)
        torch.save(net.state_dict(), f"histo_{epoch}.pt")
    log.info("training complete")


if __name__ == "__main__":
    main()
