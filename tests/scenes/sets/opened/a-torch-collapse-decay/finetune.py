"""Two phases: head warm start, then the whole net with decoupled weight decay."""
import csv
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

PHASES = [
    {"name": "phase1", "steps": 150, "lr": 3e-3, "weight_decay": 0.01},
    {"name": "phase2", "steps": 700, "lr": 1e-2, "weight_decay": 50},
]
torch.manual_seed(21)
centers = torch.randn(10, 32) * 1.2


def batch(n=64):
    y = torch.randint(0, 10, (n,))
    return centers[y] + torch.randn(n, 32), y


net = nn.Sequential(nn.Linear(32, 96), nn.GELU(), nn.Linear(96, 96), nn.GELU(), nn.Linear(96, 10))
with open("history.csv", "w", buffering=1, newline="") as f:
    w = csv.writer(f)
    w.writerow(["step", "phase", "train_loss", "train_acc", "val_loss", "val_acc"])
    step = 0
    for ph in PHASES:
        opt = torch.optim.AdamW(net.parameters(), lr=ph["lr"], weight_decay=ph["weight_decay"])
        print(f"==> {ph['name']}: {ph['steps']} steps, lr={ph['lr']}, wd={ph['weight_decay']}", flush=True)
        for _ in range(ph["steps"]):
            step += 1
            x, y = batch()
            out = net(x)
            loss = F.cross_entropy(out, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            time.sleep(0.18)
            if step % 10 == 0:
                with torch.no_grad():
                    vx, vy = batch(256)
                    vo = net(vx)
                    vl, va = F.cross_entropy(vo, vy).item(), (vo.argmax(1) == vy).float().mean().item()
                acc = (out.argmax(1) == y).float().mean().item()
                w.writerow([step, ph["name"], f"{loss.item():.4f}", f"{acc:.3f}", f"{vl:.4f}", f"{va:.3f}"])
                print(f"[{ph['name']}] step={step} loss={loss.item():.4f} acc={acc:.3f} | val_loss={vl:.4f} "
                      f"val_acc={va:.3f}", flush=True)
