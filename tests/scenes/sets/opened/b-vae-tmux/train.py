import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import torch
import torch.nn as nn

torch.manual_seed(11)
BAR = "━"
TOTAL = 400


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(100, 64), nn.ReLU(), nn.Linear(64, 16))
        self.dec = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 100))

    def forward(self, x):
        mu, lv = self.enc(x).chunk(2, -1)
        z = mu + torch.randn_like(mu) * (lv / 2).exp()
        rec = ((self.dec(z) - x) ** 2).sum(-1).mean()
        kl = 0.5 * (mu ** 2 + lv.exp() - 1 - lv).sum(-1).mean()
        return rec, kl


mix = torch.randn(8, 100)
model = VAE()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
print("VAE  |  100 -> 8 -> 100  |  %d steps" % TOTAL, flush=True)
t0 = time.time()
for step in range(1, TOTAL + 1):
    x = torch.randn(128, 8) @ mix
    rec, kl = model(x)
    (rec + 0.1 * kl).backward()
    opt.step()
    opt.zero_grad()
    time.sleep(0.3)
    if step % 10 == 0:
        fill = int(30 * step / TOTAL)
        eta = (time.time() - t0) / step * (TOTAL - step)
        print(f"step {step:<4d} {BAR * fill:<30s} {100 * step / TOTAL:5.1f}%  recon {rec.item():8.3f}  kl {kl.item():6.3f}  eta {eta:4.0f}s", flush=True)
    if step % 100 == 0:
        torch.save(model.state_dict(), "vae.pt")
        print("saved vae.pt", flush=True)
print("done", flush=True)
