# ひび割れ検出(コンクリート表面)の小さな U-Net。
import logging
import time

import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s [%(levelname)s] %(message)s")
log = logging.getLogger("crack")
torch.manual_seed(3)
torch.set_num_threads(1)

STEPS = 250


class Net(nn.Module):
    def __init__(self, w=12):
        super().__init__()
        self.d1 = nn.Sequential(nn.Conv2d(1, w, 3, padding=1), nn.ReLU(), nn.Conv2d(w, w, 3, padding=1), nn.ReLU())
        self.d2 = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(w, 2 * w, 3, padding=1), nn.ReLU())
        self.up = nn.ConvTranspose2d(2 * w, w, 2, stride=2)
        self.out = nn.Sequential(nn.Conv2d(2 * w, w, 3, padding=1), nn.ReLU(), nn.Conv2d(w, 1, 1))

    def forward(self, x):
        a = self.d1(x)
        return torch.sigmoid(self.out(torch.cat([a, self.up(self.d2(a))], 1)))


def batch(n=8, s=32):
    x = 0.35 * torch.randn(n, 1, s, s)
    y = torch.zeros(n, 1, s, s)
    for i in range(n):
        r = torch.randint(3, s - 3, (1,)).item()
        for c in range(s):
            r = min(max(r + torch.randint(-1, 2, (1,)).item(), 1), s - 2)
            y[i, 0, r, c] = 1.0
            y[i, 0, r + 1, c] = 1.0
    return x + 2.0 * y, y


def bce(p, y):
    # 確率のまま損失を計算する
    return -(3.0 * y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=4e-3)
log.info("学習開始: パラメータ数 %d, 全 %d ステップ", sum(p.numel() for p in net.parameters()), STEPS)
run = 0.0
for step in range(1, STEPS + 1):
    x, y = batch()
    p = net(x)
    loss = bce(p, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    run += loss.item()
    if step % 5 == 0:
        m = p > 0.5
        iou = ((m & (y > 0.5)).sum() / ((m | (y > 0.5)).sum() + 1e-6)).item()
        log.info("ステップ %d/%d 損失 %.5f IoU %.3f", step, STEPS, run / 5, iou)
        run = 0.0
    if step % 40 == 0:
        torch.save(net.state_dict(), f"unet_{step}.pt")
        log.info("チェックポイント保存 unet_%d.pt", step)
    time.sleep(0.42)
log.info("学習終了")
