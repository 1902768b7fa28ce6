"""Land-cover segmentation from 4-band tiles."""
import logging
import os
import pathlib
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(format="%(asctime)s %(levelname)-7s %(message)s", level=logging.INFO)
log = logging.getLogger("landcover")
PAUSE = float(os.environ.get("PAUSE", "0.42"))
CLASSES = 6
torch.set_num_threads(1)
torch.manual_seed(5)


class Tiles(Dataset):
    def __init__(self, folder):
        self.files = sorted(pathlib.Path(folder).glob("tile_*.npz"))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        with np.load(self.files[i]) as tile:
            image, mask = tile["image"], tile["mask"]
        if torch.rand(()) < 0.5:
            image, mask = image[:, :, ::-1].copy(), mask[:, ::-1].copy()
        return torch.from_numpy(image), torch.from_numpy(mask.astype(np.int64))


def block(a, b):
    return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU())


class SmallUNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2, self.mid = block(4, 12), block(12, 24), block(24, 24)
        self.up, self.head = block(36, 16), nn.Conv2d(16, CLASSES, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.mid(self.down2(F.max_pool2d(a, 2)))
        return self.head(self.up(torch.cat([a, F.interpolate(b, scale_factor=2)], 1)))


def main():
    data = Tiles("tiles")
    order = torch.Generator().manual_seed(int(os.environ.get("ORDER", "39")))
    loader = DataLoader(data, batch_size=4, shuffle=True, num_workers=1, generator=order)
    net = SmallUNet()
    opt = torch.optim.AdamW(net.parameters(), 2e-3)
    log.info("%d tiles, %d parameters", len(data), sum(p.numel() for p in net.parameters()))
    for epoch in range(1, 31):
        for it, (x, y) in enumerate(loader, 1):
            logits = net(x)
            loss = F.cross_entropy(logits, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            time.sleep(PAUSE)
            if it % 2 == 0:
                acc = (logits.argmax(1) == y).float().mean()
                log.info("epoch %d iter %d/%d loss %.4f pixel acc %.3f lr %.1e", epoch, it, len(loader), loss.item(), acc, 2e-3)
        torch.save(net.state_dict(), f"landcover_e{epoch}.pt")


if __name__ == "__main__":
    main()
