import argparse
import glob
import logging
import time

import numpy as np
import torch
from torch import nn

ap = argparse.ArgumentParser()
ap.add_argument("folder")
ap.add_argument("--margin", type=float)
ap.add_argument("--lr", type=float)
args = ap.parse_args()
logging.basicConfig(format="[%(asctime)s][%(name)s][%(levelname)s] - %(message)s", level=logging.INFO)
log = logging.getLogger("embed")
torch.manual_seed(0)


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 16))

    def forward(self, x):
        return self.net(x)


def contrastive(u, v, y):
    d = ((u - v) ** 2).sum(1).sqrt()
    return (y * d**2 + (1 - y) * torch.relu(args.margin - d) ** 2).mean()


tower = Tower()
opt = torch.optim.Adam(tower.parameters(), lr=args.lr)
step = 0
for path in sorted(glob.glob(f"{args.folder}/*.npz")):
    z = np.load(path)
    a, b, y = (torch.from_numpy(z[k]) for k in "aby")
    log.info("shard %s: %d pairs, %.0f%% positive", path, len(y), 100 * y.mean())
    for part in torch.randperm(len(y)).split(32):
        loss = contrastive(tower(a[part]), tower(b[part]), y[part])
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(tower.parameters(), 1.0)
        opt.step()
        step += 1
        time.sleep(0.09)
        if step % 10 == 0:
            log.info("step=%d loss=%.4f lr=%.1e", step, loss.item(), opt.param_groups[0]["lr"])
    torch.save(tower.state_dict(), "tower.pt")
log.info("finished after %d steps, tower.pt", step)
