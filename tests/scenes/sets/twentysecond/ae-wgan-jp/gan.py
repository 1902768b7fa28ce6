"""WGAN-GP、8x8 の模様。批評家は生成器一回につき三回更新。"""
import csv
import time

import torch
from torch import nn

torch.manual_seed(2)
torch.set_num_threads(1)
G = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.Tanh())
D = nn.Sequential(nn.Linear(64, 96), nn.LeakyReLU(0.2), nn.Linear(96, 96), nn.LeakyReLU(0.2), nn.Linear(96, 1))
og = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.0, 0.9))
od = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.0, 0.9))


def real(n):
    p = torch.rand(n, 2, 1) * 6.28
    t = torch.arange(8) * 0.8
    return (torch.sin(t + p[:, 0])[:, :, None] * torch.cos(t + p[:, 1])[:, None, :]).flatten(1)


def wait_and_log(w, row):
    w.writerow(row)
    print(f"反復 {row[0]:4d}  批評家損失 {row[1]:+9.4f}  生成器損失 {row[2]:+9.4f}  勾配罰則 {row[3]:.4f}  距離 {row[4]:.3f}", flush=True)


f = open("loss.csv", "w", buffering=1)
w = csv.writer(f)
w.writerow(["iter", "d_loss", "g_loss", "gp", "mean_gap"])
for it in range(1, 321):
    for _ in range(3):
        x, z = real(32), G(torch.randn(32, 8)).detach()
        e = torch.rand(32, 1)
        m = (e * x + (1 - e) * z).requires_grad_()
        g, = torch.autograd.grad(D(m).sum(), m, create_graph=True)
        gp = 10 * ((g.norm(dim=1) - 1) ** 2).mean()
        dl = D(z).mean() - D(x).mean() + gp
        od.zero_grad()
        dl.backward()
        od.step()
    fake = G(torch.randn(32, 8))
    gl = -D(fake).mean()
    og.zero_grad()
    gl.backward()
    og.step()
    time.sleep(0.28)
    if it % 5 == 0:
        gap = (real(256).std(0) - G(torch.randn(256, 8)).detach().std(0)).abs().mean().item()
        wait_and_log(w, [it, dl.item(), gl.item(), gp.item(), gap])
    if it % 80 == 0:
        torch.save(G.state_dict(), f"gen_{it}.pt")
        print(f"保存 gen_{it}.pt", flush=True)
print("学習終了", flush=True)
