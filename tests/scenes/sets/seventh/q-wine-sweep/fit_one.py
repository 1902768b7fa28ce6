"""Fit one wine quality regressor. usage: fit_one.py configs/NAME.json"""
import json
import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np
import torch
import torch.nn as nn
from tqdm import tqdm

cfg = json.load(open(sys.argv[1]))
name = os.path.basename(sys.argv[1])[:-5]
torch.manual_seed(cfg["seed"])
torch.set_num_threads(1)
rng = np.random.default_rng(0)
x = torch.from_numpy(rng.standard_normal((2000, 11)).astype(np.float32))
y = (x[:, :3].sum(1) + 0.5 * x[:, 3] * x[:, 4] + 0.1 * torch.randn(2000))[:, None]

layers, width = [], 11
for w in cfg["hidden"]:
    layers += [nn.Linear(width, w), nn.LayerNorm(w) if cfg["norm"] == "layer" else nn.Identity(), nn.GELU()]
    width = w
net = nn.Sequential(*layers, nn.Linear(cfg["hidden"][-1], 1))
skip = nn.Linear(11, cfg["skip_to"]) if cfg.get("skip_to") else None
params = list(net.parameters()) + (list(skip.parameters()) if skip else [])
opt = torch.optim.AdamW(params, lr=cfg["lr"])


def forward(v, epoch):
    if skip is None or epoch < 2:
        return net(v)
    h = net[:-1](v) + skip(v)          # the skip path is switched on after the first two epochs
    return net[-1](h)


best = float("inf")
for epoch in range(cfg["epochs"]):
    bar = tqdm(range(0, 2000, 50), desc=f"{name} epoch {epoch + 1}/{cfg['epochs']}", ncols=100, mininterval=1.0)
    for at in bar:
        loss = nn.functional.mse_loss(forward(x[at:at + 50], epoch), y[at:at + 50])
        opt.zero_grad()
        loss.backward()
        opt.step()
        bar.set_postfix(loss=f"{loss.item():.4f}")
        time.sleep(0.08)
    best = min(best, loss.item())
os.makedirs("results", exist_ok=True)
torch.save(net.state_dict(), f"results/{name}.pt")
json.dump({"best": best}, open(f"results/{name}.json", "w"))
print(f"{name}: best loss {best:.4f}", flush=True)
