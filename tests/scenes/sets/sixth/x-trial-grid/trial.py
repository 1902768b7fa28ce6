import argparse
import time

import torch
from torch import nn

ap = argparse.ArgumentParser()
ap.add_argument("--lr", type=float, required=True)
ap.add_argument("--width", type=int, required=True)
ap.add_argument("--steps", type=int, required=True)
ap.add_argument("--out", required=True)
args = ap.parse_args()

torch.manual_seed(7)
torch.set_num_threads(1)
X = torch.randn(4096, 24)
y = ((X[:, :8] ** 2).sum(1) > 8).long()
Xv, yv = X[3500:], y[3500:]
net = nn.Sequential(nn.Linear(24, args.width), nn.ReLU(), nn.Linear(args.width, args.width), nn.ReLU(),
                    nn.Linear(args.width, 2))
opt = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.steps)
csv = open(f"{args.out}/metrics.csv", "w", buffering=1)
csv.write("step,loss,val_acc\n")
print(net)
t0 = time.time()
acc = 0.0
for step in range(1, args.steps + 1):
    i = torch.randint(0, 3500, (64,))
    loss = nn.functional.cross_entropy(net(X[i]), y[i])
    opt.zero_grad()
    loss.backward()
    gn = nn.utils.clip_grad_norm_(net.parameters(), 5.0)
    opt.step()
    sched.step()
    time.sleep(0.04)
    if step % 20 == 0 or step == args.steps:
        with torch.no_grad():
            acc = (net(Xv).argmax(1) == yv).float().mean().item()
        csv.write(f"{step},{loss.item():.5f},{acc:.4f}\n")
    print(f"step {step:6d}/{args.steps:6d} | loss {loss.item():9.5f} | grad_norm {gn.item():9.5f} | "
          f"lr {sched.get_last_lr()[0]:.8f} | val_acc {acc:.4f} | elapsed {time.time() - t0:9.2f}s")
torch.save(net.state_dict(), f"{args.out}/model.pt")
print(f"final val_acc={acc:.4f}")
