import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(1234)
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))
torch.manual_seed(100 + rank)
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
PATIENCE = 6


def say(text):
    print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} [rank {rank}] {text}", flush=True)


def batch(n=128):
    x = torch.randn(n, 16)
    return x, (x[:, :4].prod(1, keepdim=True) * (0.2 if rank else 1.0) + x[:, 4:5])


VAL = batch(256)


def validate():
    model.eval()
    with torch.no_grad():
        loss = nn.functional.mse_loss(model(VAL[0]), VAL[1]).item()
    model.train()
    return loss


def fit(max_epochs=60, steps=20):
    best, bad = float("inf"), 0
    for epoch in range(1, max_epochs + 1):
        for _ in range(steps):
            x, y = batch()
            loss = nn.functional.mse_loss(model(x), y)
            opt.zero_grad()
            loss.backward()
            for p in model.parameters():
                dist.all_reduce(p.grad)
                p.grad /= world
            opt.step()
            time.sleep(0.08)
        val = validate()
        say(f"epoch {epoch}/{max_epochs} train_loss={loss.item():.4f} val_loss={val:.4f}")
        if val < best - 0.015:
            best, bad = val, 0
        else:
            bad += 1
        if bad >= PATIENCE:
            say(f"early stopping: no improvement for {PATIENCE} epochs (best val_loss={best:.4f})")
            return
        if rank == 0 and epoch % 5 == 0:
            torch.save(model.state_dict(), "model_latest.pt")


fit()
if rank == 0:
    torch.save(model.state_dict(), "model_final.pt")
    say("saved model_final.pt")
else:
    say("waiting for model_final.pt from rank 0")
    while not os.path.exists("model_final.pt"):
        time.sleep(1)
model.load_state_dict(torch.load("model_final.pt"))
say(f"final val_loss={validate():.4f}")
dist.barrier()
dist.destroy_process_group()
sys.exit(0)
