import logging
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader

from clips import ClipDataset

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s | %(message)s", datefmt="%m-%d %H:%M:%S")
log = logging.getLogger("clips")


def forever(loader):
    while True:
        yield from loader


def main():
    torch.manual_seed(4)
    torch.set_num_threads(1)
    loader = DataLoader(ClipDataset(320), batch_size=16, shuffle=True, num_workers=2, persistent_workers=True)
    net = nn.Sequential(nn.Conv2d(8, 16, 5, stride=2), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2), nn.ReLU(),
                        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 4))
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    total = 600
    it = forever(loader)
    t0 = time.time()
    for step in range(1, total + 1):
        x, y = next(it)
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.15)  # the big head runs elsewhere
        if step % 10 == 0:
            dt = time.time() - t0
            log.info("step %d/%d loss %.4f | %.1f clips/s | eta %.0f s", step, total, loss.item(), 160 / dt,
                     (total - step) * dt / 10)
            t0 = time.time()
        if step % 200 == 0:
            torch.save(net.state_dict(), "clips_net.pt")
            log.info("saved clips_net.pt")
    log.info("finished")


if __name__ == "__main__":
    main()
