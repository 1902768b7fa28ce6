"""拡散モデルの学習。一定間隔でサンプル画像を生成する。"""
import datetime
import math
import os
import time

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from torch import nn

T, SIZE = 100, 16
STEPS, SAMPLE_EVERY = 240, 80


def kiroku(bun):
    print(f"[{datetime.datetime.now():%Y年%m月%d日 %H:%M:%S}] {bun}")


class Denoiser(nn.Module):
    def __init__(self, c=20):
        super().__init__()
        self.emb = nn.Embedding(T, c)
        self.a = nn.Conv2d(1, c, 3, padding=1)
        self.b = nn.Conv2d(c, c, 3, padding=1)
        self.c = nn.Conv2d(c, 1, 3, padding=1)

    def forward(self, x, t):
        h = F.silu(self.a(x) + self.emb(t)[:, :, None, None])
        return self.c(h + F.silu(self.b(h)))


def gazou(n):
    x = -torch.ones(n, 1, SIZE, SIZE)
    for i in range(n):
        r = int(torch.randint(2, 10, (1,)))
        x[i, 0, r:r + 4, 2:14] = 1
    return x


@torch.no_grad()
def seisei(net, beta, abar, path, kurikaeshi=3):
    """高画質のサンプルは時間がかかる。"""
    mai = []
    for _ in range(kurikaeshi):
        x = torch.randn(4, 1, SIZE, SIZE)
        for t in reversed(range(T)):
            e = net(x, torch.full((4,), t))
            x = (x - beta[t] / (1 - abar[t]).sqrt() * e) / (1 - beta[t]).sqrt()
            if t:
                x = x + beta[t].sqrt() * torch.randn_like(x)
            time.sleep(0.05)
        mai.append(x.clamp(-1, 1)[:, 0])
    e = torch.cat(mai).reshape(-1, SIZE).numpy()
    Image.fromarray(((e + 1) * 127).astype(np.uint8)).save(path)


def main():
    torch.manual_seed(0)
    os.makedirs("sample", exist_ok=True)
    beta = torch.linspace(1e-3, 0.12, T)
    abar = torch.cumprod(1 - beta, 0)
    net = Denoiser()
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
    kiroku(f"学習開始 パラメータ数={sum(p.numel() for p in net.parameters())}")
    heikin = None
    for step in range(1, STEPS + 1):
        x0 = gazou(16)
        t = torch.randint(0, T, (16,))
        n = torch.randn_like(x0)
        a = abar[t][:, None, None, None]
        loss = F.mse_loss(net(a.sqrt() * x0 + (1 - a).sqrt() * n, t), n)
        opt.zero_grad()
        loss.backward()
        opt.step()
        heikin = loss.item() if heikin is None else 0.95 * heikin + 0.05 * loss.item()
        time.sleep(0.18)
        if step % 5 == 0:
            kiroku(f"ステップ {step}/{STEPS} 損失 {loss.item():.4f} 移動平均 {heikin:.4f} 学習率 {opt.param_groups[0]['lr']:.1e}")
        if step % SAMPLE_EVERY == 0:
            kiroku("サンプル生成中…")
            start = time.time()
            seisei(net, beta, abar, f"sample/{step:05d}.png")
            torch.save(net.state_dict(), f"sample/{step:05d}.pt")
            kiroku(f"サンプル生成完了 {time.time() - start:.1f}秒、チェックポイント保存")
    kiroku("学習が正常に終了しました")


main()
