import argparse, glob, os, time
import torch
from torch import nn
a = argparse.ArgumentParser(); a.add_argument("--out"); a.add_argument("--keep", type=int, default=3); a.add_argument("--steps", type=int, default=240)
a = a.parse_args()
torch.set_num_threads(1); torch.manual_seed(0)
net = nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 1024), nn.GELU(), nn.Linear(1024, 10))
emb = nn.Embedding(8500, 256)
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
T = torch.randint(0, 10, (200,))

def save(step):
    old = sorted(glob.glob(f"{a.out}/step_*.pt"))
    while len(old) >= a.keep:
        os.remove(old.pop(0))
    f = f"{a.out}/step_{step:06d}.pt"
    torch.save({"net": net.state_dict(), "emb": emb.state_dict(), "step": step}, f + ".tmp")
    os.replace(f + ".tmp", f)
    s = os.statvfs(a.out)
    print(f"[ckpt] {f} {os.path.getsize(f) / 2**20:.1f} MiB, disk {100 * (1 - s.f_bavail / s.f_blocks):.0f}% used", flush=True)

run = None
for step in range(1, a.steps + 1):
    i = torch.randint(0, 200, (16,))
    loss = nn.functional.cross_entropy(net(emb(i).detach()), T[i])
    opt.zero_grad(); loss.backward(); opt.step()
    time.sleep(0.1)
    run = loss.item() if run is None else 0.9 * run + 0.1 * loss.item()
    if step % 8 == 0:
        print(f"step {step}/{a.steps} loss {run:.4f}", flush=True)
    if step % 24 == 0:
        save(step)
print("done")
