"""Street segmentation, small U-Net; keeps the hard validation pictures for the look on Monday."""
import logging
import os
import pathlib
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

PAUSE = float(os.environ.get("PAUSE", "0.28"))
logging.basicConfig(filename="train.log", level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("seg")
torch.set_num_threads(1)
torch.manual_seed(1)
rng = np.random.default_rng(1)
OUT = pathlib.Path("vol/run7")
(OUT / "hard").mkdir(parents=True, exist_ok=True)
S = 64


def street(n):
    y, x = np.mgrid[0:S, 0:S] / S
    img, lab = np.zeros((n, 3, S, S), np.float32), np.zeros((n, S, S), np.int64)
    for i in range(n):
        hor, cx, w = rng.uniform(.25, .5), rng.uniform(.3, .7), rng.uniform(.4, .9)
        road = (y > hor) & (abs(x - cx) < w * (y - hor))
        build = (y < rng.uniform(.3, .7)) & (abs(x - cx) > rng.uniform(.1, .3))
        lab[i][build] = 2
        lab[i][road] = 1
        for c, a in enumerate(rng.uniform(.2, .8, 3)):
            img[i, c] = a + .18 * (lab[i] == 1) * (c - 1) - .2 * (lab[i] == 2) + rng.normal(0, .16, (S, S))
    return torch.from_numpy(img), torch.from_numpy(lab)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU())
        self.b = nn.Sequential(nn.Conv2d(12, 24, 3, stride=2, padding=1), nn.BatchNorm2d(24), nn.ReLU())
        self.c = nn.Sequential(nn.Conv2d(24, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU())
        self.d = nn.Conv2d(32 + 24, 24, 3, padding=1)
        self.e = nn.Conv2d(24 + 12, 3, 3, padding=1)

    def forward(self, x):
        a = self.a(x)
        b = self.b(a)
        c = F.interpolate(self.c(b), scale_factor=2)
        d = F.interpolate(torch.relu(self.d(torch.cat([c, b], 1))), scale_factor=2)
        return self.e(torch.cat([d, a], 1))


def save(epoch, net, opt):
    tmp = OUT / "last.pt.tmp"
    try:
        torch.save({"epoch": epoch, "net": net.state_dict(), "opt": opt.state_dict()}, tmp)
        os.replace(tmp, OUT / "last.pt")
        log.info("saved %s", OUT / "last.pt")
    except (OSError, RuntimeError) as e:
        log.warning("could not save %s: %s", OUT / "last.pt", str(e).splitlines()[0])


def keep_hard(epoch, pred, y):
    """Logits of the pictures below 0.9 IoU, as they are, to compare epochs."""
    try:
        for i in range(len(y)):
            np.save(OUT / "hard" / f"e{epoch:02d}_{i:03d}.npy", np.concatenate([pred[i].numpy().astype(np.float64), y[i][None].numpy()]))
    except OSError as e:
        log.warning("hard pictures of epoch %d not written: %s", epoch, e)


x, y = street(192)
vx, vy = street(48)
net = UNet()
opt = torch.optim.Adam(net.parameters(), 2e-3)
for epoch in range(1, 46):
    for step in range(1, 13):
        idx = torch.from_numpy(rng.integers(0, 192, 8))
        loss = F.cross_entropy(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 2 == 0:
            log.info("epoch %d step %d/12 ce=%.4f", epoch, step, loss.item())
        time.sleep(PAUSE)
    net.eval()
    with torch.no_grad():
        pred = torch.cat([net(vx[i:i + 8]) for i in range(0, 48, 8)])
    net.train()
    hit = (pred.argmax(1) == vy).float().mean().item()
    log.info("epoch %d val ce=%.4f pixel_acc=%.4f", epoch, F.cross_entropy(pred, vy).item(), hit)
    save(epoch, net, opt)
    if epoch > 15:
        keep_hard(epoch, pred, vy)
log.info("finished")
