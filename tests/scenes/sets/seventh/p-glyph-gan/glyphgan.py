import argparse
import io
import os
import time

import torch
from torch import nn

ap = argparse.ArgumentParser()
ap.add_argument("--steps", type=int, default=400)
ap.add_argument("--save-every", type=int, default=60)
args = ap.parse_args()
torch.manual_seed(9)
torch.set_num_threads(1)

G = nn.Sequential(nn.Linear(32, 256), nn.LeakyReLU(0.2), nn.Linear(256, 784), nn.Tanh())
D = nn.Sequential(nn.Linear(784, 256), nn.LeakyReLU(0.2), nn.Linear(256, 1))
g_opt = torch.optim.Adam(G.parameters(), 2e-4, betas=(0.5, 0.999))
d_opt = torch.optim.Adam(D.parameters(), 2e-4, betas=(0.5, 0.999))
bce = nn.functional.binary_cross_entropy_with_logits
os.makedirs("ckpt", exist_ok=True)


def save(step):
    path = f"ckpt/glyph_{step:06d}.pth"
    buf = io.BytesIO()
    torch.save({"step": step, "G": G.state_dict(), "D": D.state_dict(), "g": g_opt.state_dict(), "d": d_opt.state_dict()}, buf)
    print(f"saving {path} ({buf.tell() / 1e6:.1f} MB)", flush=True)
    data = buf.getvalue()
    with open(path, "wb") as f:            # gently, the share is a slow one
        for a in range(0, len(data), 1 << 19):
            f.write(data[a:a + (1 << 19)])
            f.flush()
            time.sleep(0.3)
    print(f"saved {path}", flush=True)


start = 0
have = sorted(n for n in os.listdir("ckpt") if n.endswith(".pth"))
if have:
    print(f"resuming from ckpt/{have[-1]}", flush=True)
    st = torch.load("ckpt/" + have[-1], map_location="cpu")
    start = st["step"]
    G.load_state_dict(st["G"]), D.load_state_dict(st["D"])
    g_opt.load_state_dict(st["g"]), d_opt.load_state_dict(st["d"])

real_base = torch.sign(torch.randn(16, 784, generator=torch.Generator().manual_seed(1)))
for step in range(start + 1, args.steps + 1):
    real = real_base[torch.randint(16, (32,))] * 0.9 + 0.05 * torch.randn(32, 784)
    fake = G(torch.randn(32, 32))
    d_loss = bce(D(real), torch.ones(32, 1)) + bce(D(fake.detach()), torch.zeros(32, 1))
    d_opt.zero_grad(); d_loss.backward(); d_opt.step()
    g_loss = bce(D(fake), torch.ones(32, 1))
    g_opt.zero_grad(); g_loss.backward(); g_opt.step()
    time.sleep(0.14)
    if step % 10 == 0:
        print(f"[{step}/{args.steps}] loss_D {d_loss.item():.3f} loss_G {g_loss.item():.3f}", flush=True)
    if step % args.save_every == 0:
        save(step)
print("finished", flush=True)
