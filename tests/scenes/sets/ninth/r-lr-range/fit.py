"""First a learning rate range test, then the training with the rate it found."""
import copy
import math
import time

import torch
from torch import nn

torch.manual_seed(4)
teacher = nn.Sequential(nn.Linear(16, 24), nn.Tanh(), nn.Linear(24, 1))


def batch(n=64):
    x = torch.randn(n, 16)
    with torch.no_grad():
        return x, 3 * teacher(x) + 0.1 * torch.randn(n, 1)


def range_test(model, low=1e-4, high=30.0, steps=150, beta=0.8):
    print(f"[range test] {steps} steps, lr {low:g} .. {high:g}", flush=True)
    opt = torch.optim.SGD(model.parameters(), lr=low, momentum=0.9)
    avg, best, best_lr = 0.0, math.inf, low
    for k in range(steps):
        lr = low * (high / low) ** (k / (steps - 1))
        opt.param_groups[0]["lr"] = lr
        x, y = batch()
        loss = nn.functional.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        avg = beta * avg + (1 - beta) * loss.item()
        smooth = avg / (1 - beta ** (k + 1))
        if smooth < best:
            best, best_lr = smooth, lr
        if k % 4 == 0:
            print(f"[range test] {k:3d}  lr {lr:.2e}  loss {loss.item():.4g}", flush=True)
        if not math.isfinite(smooth) or smooth > 1000 * best:
            print(f"[range test] loss {loss.item():.4g} at lr {lr:.2e}: diverged, test stopped", flush=True)
            break
        time.sleep(0.1)
    return best_lr / 10


def train(model, lr, steps=250):
    opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, steps)
    for k in range(1, steps + 1):
        x, y = batch()
        loss = nn.functional.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        time.sleep(0.1)
        if k % 10 == 0:
            print(f"[train] {k:3d}/{steps}  lr {sched.get_last_lr()[0]:.2e}  loss {loss.item():.4g}", flush=True)


student = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1))
start = copy.deepcopy(student.state_dict())
lr = range_test(student)
print(f"suggested lr: {lr:.2e}", flush=True)
student.load_state_dict(start)
train(student, lr)
torch.save(student.state_dict(), "student.pt")
