"""GAN on points of a noisy ring. Losses go to losses.csv, a line an epoch to the screen."""
import csv, math, os, sys, time
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(31)
torch.set_num_threads(1)
EPOCHS, BATCHES, Z = 45, 60, 8
G = nn.Sequential(nn.Linear(Z, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
D = nn.Sequential(nn.Linear(2, 128), nn.LeakyReLU(0.2), nn.Linear(128, 128), nn.LeakyReLU(0.2), nn.Linear(128, 1))
og = torch.optim.Adam(G.parameters(), 1e-3, betas=(0.5, 0.99))
od = torch.optim.Adam(D.parameters(), 2e-3, betas=(0.5, 0.99))
os.makedirs("samples", exist_ok=True)
out = csv.writer(f := open("losses.csv", "w", newline=""))
out.writerow(["epoch", "d_loss", "g_loss", "d_real", "d_fake"])


def real(n):
    k = torch.rand(n) * 2 * math.pi
    return torch.stack([k.cos(), k.sin()], 1) * 2 + 0.15 * torch.randn(n, 2)


one = lambda t: torch.ones_like(t)
for epoch in range(1, EPOCHS + 1):
    sd = sg = pr = pf = 0.0
    for _ in range(BATCHES):
        for _ in range(2):
            x, z = real(128), torch.randn(128, Z)
            r, k = D(x), D(G(z).detach())
            ld = F.binary_cross_entropy_with_logits(r, one(r) * 0.95) + F.binary_cross_entropy_with_logits(k, 0 * k)
            od.zero_grad()
            ld.backward()
            od.step()
        k = D(G(torch.randn(128, Z)))
        lg = F.binary_cross_entropy_with_logits(k, one(k))
        og.zero_grad()
        lg.backward()
        og.step()
        sd, sg, pr, pf = sd + ld.item(), sg + lg.item(), pr + r.sigmoid().mean().item(), pf + k.sigmoid().mean().item()
        time.sleep(0.02)
    row = [v / BATCHES for v in (sd, sg, pr, pf)]
    out.writerow([epoch] + [f"{v:.5f}" for v in row])
    f.flush()
    sys.stderr.write("[%2d/%d] Loss_D: %.4f  Loss_G: %.4f  D(x): %.4f  D(G(z)): %.4f\n" % (epoch, EPOCHS, *row))
    if epoch % 9 == 0:
        torch.save({"G": G.state_dict(), "D": D.state_dict()}, f"samples/gan_{epoch:03d}.pth")
with torch.no_grad():
    s = G(torch.randn(2000, Z))
rad = s.norm(dim=1)
seen = len({int((math.atan2(y, x) / math.pi + 1) * 8) % 16 for x, y in s.tolist()})
torch.save(G.state_dict(), "generator.pth")
sys.stderr.write(f"Training finished. radius {rad.mean():.2f}+-{rad.std():.2f} (data 2.00+-0.15), {seen}/16 sectors, generator.pth written\n")
