"""Two-layer GCN on a planted citation graph; goes on from ckpt/last.pt if there is one."""
import io
import os
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_num_threads(1)
N, C, EPOCHS = 600, 5, 400


def graph():
    r = np.random.default_rng(1)
    y = r.integers(0, C, N)
    p = np.where(y[:, None] == y[None, :], 0.03, 0.005)
    a = np.triu(r.uniform(size=(N, N)) < p, 1)
    a = (a | a.T).astype(np.float32) + np.eye(N, dtype=np.float32)
    d = 1 / np.sqrt(a.sum(1))
    x = (np.eye(C)[y] + r.normal(size=(N, C)) * 1.8).astype(np.float32)
    x = np.concatenate([x, r.normal(size=(N, 59)).astype(np.float32)], 1)
    return torch.tensor(a * d[:, None] * d[None, :]), torch.tensor(x), torch.tensor(y)


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1, self.w2 = nn.Linear(64, 256), nn.Linear(256, C)

    def forward(self, a, x):
        return a @ self.w2(F.dropout(F.relu(a @ self.w1(x)), 0.5, self.training))


def save(model, opt, epoch, path="ckpt/last.pt", rate=60_000):
    """the bucket mount chokes on bursts: write slowly"""
    buf = io.BytesIO()
    torch.save({"epoch": epoch, "model": model.state_dict(), "opt": opt.state_dict()}, buf)
    data = buf.getvalue()
    with open(path, "wb") as f:
        for i in range(0, len(data), rate // 4):
            f.write(data[i:i + rate // 4])
            f.flush()
            time.sleep(0.25)


os.makedirs("ckpt", exist_ok=True)
with open("pid", "w") as f:
    f.write(str(os.getpid()))
A, X, Y = graph()
model = GCN()
opt = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=5e-4)
train = torch.arange(N) < 200
first = 1
if os.path.exists("ckpt/last.pt"):
    s = torch.load("ckpt/last.pt")
    model.load_state_dict(s["model"])
    opt.load_state_dict(s["opt"])
    first = s["epoch"] + 1
    print(f"resumed at epoch {first}", flush=True)
for epoch in range(first, EPOCHS + 1):
    model.train()
    loss = F.cross_entropy(model(A, X)[train], Y[train])
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.3)
    if epoch % 5 == 0:
        model.eval()
        with torch.no_grad():
            acc = (model(A, X).argmax(1) == Y)[~train].float().mean().item()
        print(f"{time.strftime('%H:%M:%S')} epoch {epoch:>3} loss {loss.item():.4f} test_acc {acc:.3f}", flush=True)
    if epoch % 50 == 0:
        print(f"saving ckpt/last.pt epoch {epoch}", flush=True)
        save(model, opt, epoch)
print("training finished", flush=True)
