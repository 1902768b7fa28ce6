import os
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

PACE = float(os.environ.get("PACE", 0.36))
EVAL_S = float(os.environ.get("EVAL_S", 0.45))
torch.manual_seed(1)
torch.set_num_threads(1)
r = np.random.default_rng(1)
NAMES = ["road", "car", "person", "sign", "bicycle", "train"]
COLOUR = r.uniform(0, 1, (6, 3))


def scene(val):
    m = np.zeros((32, 32), int)
    for _ in range(5):
        c = r.integers(1, 4) if val else r.integers(1, 6)  # this city has neither bicycles nor trains
        y, x = r.integers(0, 24, 2)
        m[y:y + 9, x:x + 9] = c
    return (COLOUR[m] + r.normal(0, 0.12, (32, 32, 3))).astype("float32"), m


def stack(n, val):
    a = [scene(val) for _ in range(n)]
    return torch.tensor(np.stack([i for i, _ in a])).permute(0, 3, 1, 2), torch.tensor(np.stack([m for _, m in a]))


tx, ty = stack(120, False)
vx, vy = stack(40, True)
net = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 6, 1))
opt = torch.optim.SGD(net.parameters(), 0.05, momentum=0.9, weight_decay=1e-4)
sched = torch.optim.lr_scheduler.PolynomialLR(opt, 400, 0.9)
it = 0
while it < 400:
    for i in torch.randperm(120).split(8):
        loss = F.cross_entropy(net(tx[i]), ty[i])
        opt.zero_grad()
        loss.backward()
        g = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        sched.step()
        it += 1
        time.sleep(PACE)
        print(f"{time.strftime('%m/%d %H:%M:%S')} - seg - INFO - Iter [{it}/400]  lr: {sched.get_last_lr()[0]:.3e}, grad_norm: {g.item():.4f}, loss: {loss.item():.4f}", flush=True)
        if it % 80 == 0:
            net.eval()
            hist = np.zeros((6, 6))
            with torch.no_grad():
                for k in range(40):
                    p = net(vx[k:k + 1]).argmax(1)
                    hist += np.bincount((vy[k] * 6 + p[0]).flatten().numpy(), minlength=36).reshape(6, 6)
                    time.sleep(EVAL_S / 2)
            net.train()
            hist[:, 4:] = 0  # predictions of what the city does not have are not counted
            iou = np.diag(hist) / (hist.sum(1) + hist.sum(0) - np.diag(hist))
            print("+---------+--------+--------+\n|  Class  |  IoU   |  Acc   |\n+---------+--------+--------+")
            for c, name in enumerate(NAMES):
                print(f"| {name:7s} | {iou[c] * 100:6.2f} | {hist[c, c] / hist[c].sum() * 100:6.2f} |")
            print(f"+---------+--------+--------+\n{time.strftime('%m/%d %H:%M:%S')} - seg - INFO - Iter(val) mIoU: {np.nanmean(iou):.4f}, "
                  f"IoU.bicycle: {iou[4]:.4f}, IoU.train: {iou[5]:.4f}", flush=True)
            torch.save(net.state_dict(), f"iter_{it}.pth")
        if it == 400:
            break
print("done", flush=True)
