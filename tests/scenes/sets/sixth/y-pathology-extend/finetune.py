"""Fine-tune the slide classifier. --resume goes on from run/state.pt, also with a larger --steps."""
import argparse
import json
import os
import time

import torch
import torch.nn as nn
from torch.optim.lr_scheduler import LinearLR

torch.set_num_threads(1)


def slides(n, seed):
    g = torch.Generator().manual_seed(seed)
    w = torch.randn(64, 6, generator=torch.Generator().manual_seed(99))
    x = torch.randn(n, 64, generator=g)
    y = (x @ w + 4.0 * torch.randn(n, 6, generator=g)).argmax(1)
    return x, y


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, required=True)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--resume", action="store_true")
    a = ap.parse_args()
    torch.manual_seed(4)
    os.makedirs("run", exist_ok=True)
    x, y = slides(6000, 1)
    vx, vy = slides(1500, 2)
    model = nn.Sequential(nn.Linear(64, 96), nn.GELU(), nn.Linear(96, 6))
    opt = torch.optim.AdamW(model.parameters(), lr=a.lr, weight_decay=0.01)
    sched = LinearLR(opt, start_factor=1.0, end_factor=0.0, total_iters=a.steps)
    step = 0
    if a.resume:
        state = torch.load("run/state.pt")
        model.load_state_dict(state["model"])
        opt.load_state_dict(state["opt"])
        sched.load_state_dict(state["sched"])
        step = state["step"]
    print(json.dumps({"event": "start", "from_step": step, "to_step": a.steps, "lr": a.lr}), flush=True)
    while step < a.steps:
        i = torch.randint(0, len(x), (64,))
        loss = nn.functional.cross_entropy(model(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
        step += 1
        time.sleep(0.15)
        record = {"step": step, "train_loss": round(loss.item(), 4), "lr": opt.param_groups[0]["lr"]}
        sched.step()
        if step % 30 == 0:
            with torch.no_grad():
                out = model(vx)
            record["val_loss"] = round(nn.functional.cross_entropy(out, vy).item(), 6)
            record["val_acc"] = round((out.argmax(1) == vy).float().mean().item(), 5)
        if step % 10 == 0:
            print(json.dumps(record), flush=True)
        if step % 60 == 0:
            torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "sched": sched.state_dict(), "step": step}, "run/state.pt")
    print(json.dumps({"event": "end", "step": step}), flush=True)


if __name__ == "__main__":
    main()
