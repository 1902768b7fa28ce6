import logging
import time

import torch
from torch import nn
from torch.utils.data import DataLoader

from volumes import Patches

logging.basicConfig(level=logging.INFO, format="%(asctime)s,%(msecs)03d | %(levelname)-7s | %(message)s", datefmt="%H:%M:%S")
CURRICULUM = [(1, 16), (3, 24), (6, 48), (8, 64)]


def edge(epoch):
    return [e for first, e in CURRICULUM if epoch >= first][-1]


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    net = nn.Sequential(nn.AdaptiveAvgPool3d(16), nn.Conv3d(1, 4, 3), nn.ReLU(), nn.AdaptiveMaxPool3d(2), nn.Flatten(), nn.Linear(32, 1))
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    step = 0
    for epoch in range(1, 11):
        loader = DataLoader(Patches(80, edge(epoch)), batch_size=8, num_workers=2, shuffle=True, prefetch_factor=2)
        logging.info("epoch %d: patch %d^3, %d batches", epoch, edge(epoch), len(loader))
        for x, y in loader:
            loss = nn.functional.binary_cross_entropy_with_logits(net(x).squeeze(1), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            step += 1
            time.sleep(0.35)
            if step % 5 == 0:
                logging.info("epoch %d step %d bce %.4f", epoch, step, loss.item())
        torch.save({"net": net.state_dict(), "epoch": epoch}, "nodule.pt")
    logging.info("done")


if __name__ == "__main__":
    main()
