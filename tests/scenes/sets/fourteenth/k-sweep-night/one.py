import argparse, os, sys, time, signal
import torch, torch.nn as nn
p = argparse.ArgumentParser()
p.add_argument("--lr", type=float); p.add_argument("--wd", type=float, default=0.)
p.add_argument("--name"); p.add_argument("--resume", action="store_true")
a = p.parse_args()
os.makedirs(f"runs/{a.name}", exist_ok=True)
ck = f"runs/{a.name}/state.pt"
torch.manual_seed(0)
x = torch.randn(600, 12); w = torch.randn(12, 3); y = (x @ w + .8 * torch.randn(600, 3)).argmax(1)
net = nn.Sequential(nn.Linear(12, 48), nn.GELU(), nn.Linear(48, 3))
opt = torch.optim.AdamW(net.parameters(), lr=a.lr, weight_decay=a.wd)
ep = 0
if a.resume and os.path.exists(ck):
    s = torch.load(ck); net.load_state_dict(s["net"]); opt.load_state_dict(s["opt"]); ep = s["epoch"]
    print(f"({a.name}) continue after epoch {ep}")
while ep < 40:
    order, tot = torch.randperm(600), 0.
    for b in order.split(60):
        l = nn.functional.cross_entropy(net(x[b]), y[b])
        opt.zero_grad(); l.backward(); opt.step(); tot += l.item()
        time.sleep(.05)
    ep += 1
    if ep % 4 == 0:
        print(f"({a.name}) epoch {ep}/40 loss {tot / 10:.4f}")
    torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "epoch": ep}, ck + ".tmp"); os.replace(ck + ".tmp", ck)
print(f"({a.name}) final loss {tot / 10:.4f}")
open(f"runs/{a.name}/DONE", "w").close()
