import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import logging
import time
import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(14)
logging.basicConfig(level=logging.INFO, format="%(asctime)s - mmengine - %(levelname)s - %(message)s", datefmt="%Y/%m/%d %H:%M:%S")
log = logging.getLogger()
NAMES = ["road", "sidewalk", "building", "train", "rider", "sky"]
net = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 6, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
w = torch.randn(6, 3)
w[3] = w[4] = 0            # in this small city there is no train and no rider


def batch(n):
    x = torch.randn(n, 3, 16, 16)
    s = torch.einsum("kc,nchw->nkhw", w, x)
    s[:, 3:5] = -99
    return x, s.argmax(1)


for it in range(1, 481):
    x, y = batch(4)
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.13)
    if it % 20 == 0:
        log.info("Iter(train) [%3d/480]  lr: 5.0000e-02  eta: 0:00:%02d  time: 0.1351  data_time: 0.0004  loss: %.4f  "
                 "decode.loss_ce: %.4f", it, (480 - it) * 0.135 % 60, loss.item(), loss.item())
    if it % 120 == 0:
        with torch.no_grad():
            x, y = batch(16)
            p = net(x).argmax(1)
            p[(p == 3) | (p == 4)] = 0
        inter = np.array([((p == k) & (y == k)).sum().item() for k in range(6)], dtype=float)
        union = np.array([((p == k) | (y == k)).sum().item() for k in range(6)], dtype=float)
        total = np.array([(y == k).sum().item() for k in range(6)], dtype=float)
        iou, acc = inter / union * 100, inter / total * 100
        log.info("per class results:")
        log.info("\n+----------+-------+-------+\n|  Class   |  IoU  |  Acc  |\n+----------+-------+-------+\n"
                 + "\n".join(f"| {n:>8} | {i:5.2f} | {a:5.2f} |" for n, i, a in zip(NAMES, iou, acc))
                 + "\n+----------+-------+-------+")
        log.info("Iter(val) [16/16]    mIoU: %.4f  mAcc: %.4f  data_time: 0.0011", np.nanmean(iou), np.nanmean(acc))
        torch.save(net.state_dict(), f"iter_{it}.pth")
        log.info("Saving checkpoint at %d iterations", it)
