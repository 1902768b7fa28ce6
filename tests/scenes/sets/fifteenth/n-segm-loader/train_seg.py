import logging
import time

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(format="%(asctime)s | %(levelname)-7s | %(message)s", datefmt="%H:%M:%S", level=logging.INFO)
log = logging.getLogger("seg")

# progressive resizing as in the fast.ai course: (epochs, side)
SCHEDULE = [(6, 64), (6, 160), (4, 224)]


class Tiles(Dataset):
    def __init__(self, side, n=192):
        self.side, self.n = side, n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        coarse = torch.rand(1, 1, 8, 8, generator=g)
        mask = nn.functional.interpolate(coarse, size=(self.side, self.side), mode="bilinear")[0, 0] > 0.5
        img = mask.float()[None].repeat(3, 1, 1) + 0.3 * torch.randn(3, self.side, self.side, generator=g)
        return img, mask.long()


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = nn.Sequential(nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(4, 2, 1), nn.Upsample(scale_factor=2))
    opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
    crit = nn.CrossEntropyLoss()
    epoch = 0
    for epochs, side in SCHEDULE:
        loader = DataLoader(Tiles(side), batch_size=32, shuffle=True, num_workers=2, prefetch_factor=3)
        log.info("image size %d, %d batches per epoch", side, len(loader))
        for _ in range(epochs):
            epoch += 1
            t0, tot, inter, union = time.time(), 0.0, 0, 0
            for it, (x, y) in enumerate(loader, 1):
                out = net(x)
                loss = crit(out, y)
                opt.zero_grad()
                loss.backward()
                opt.step()
                tot += loss.item()
                p = out.argmax(1)
                inter += (p & y).sum().item()
                union += (p | y).sum().item()
                time.sleep(0.45)
                if it % 2 == 0:
                    log.info("ep %02d it %d/%d loss %.4f", epoch, it, len(loader), loss.item())
            log.info("ep %02d done  loss %.4f  mIoU %.3f  %.1fs", epoch, tot / len(loader), inter / max(1, union), time.time() - t0)
            torch.save(net.state_dict(), "last.pt")
    log.info("finished")


if __name__ == "__main__":
    main()
