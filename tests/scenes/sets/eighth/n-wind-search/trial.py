"""One trial: lagged wind speeds -> power of the next hour."""
import argparse
import json
import os
import time

import numpy as np
import torch
from torch import nn


def features(lags):
    """The lag table is costly to make: keep it on disk, for all trials."""
    if os.path.exists("cache/meta.json"):
        meta = json.load(open("cache/meta.json"))
        if meta["lags"] >= lags:
            return np.load("cache/x.npy")[:, :lags], np.load("cache/y.npy")
        print(f"cache has {meta['lags']} lags, {lags} wanted: building it again", flush=True)
    os.makedirs("cache", exist_ok=True)
    rng = np.random.default_rng(2)
    wind = 8 + 3 * np.sin(np.arange(3000) / 24) + np.convolve(rng.normal(size=3000), np.ones(6) / 3, "same")
    x = np.stack([wind[i:len(wind) - lags + i] for i in range(lags)], 1).astype("float32")
    y = np.clip(wind[lags:] ** 3 / 800, 0, 2).astype("float32")
    json.dump({"lags": lags}, open("cache/meta.json", "w"))
    np.save("cache/x.npy", (x - 8) / 3)
    if not os.path.exists("cache/y.npy"):
        np.save("cache/y.npy", y)
    return np.load("cache/x.npy"), np.load("cache/y.npy")


ap = argparse.ArgumentParser()
ap.add_argument("--number", type=int)
ap.add_argument("--lr", type=float)
ap.add_argument("--width", type=int)
ap.add_argument("--lags", type=int)
a = ap.parse_args()
torch.manual_seed(a.number)
x, y = features(a.lags)
ds = torch.utils.data.TensorDataset(torch.from_numpy(x), torch.from_numpy(y)[:, None])
train, val = torch.utils.data.Subset(ds, range(2400)), torch.utils.data.Subset(ds, range(2400, len(ds)))
net = nn.Sequential(nn.Linear(a.lags, a.width), nn.ReLU(), nn.Linear(a.width, a.width), nn.ReLU(), nn.Linear(a.width, 1))
opt = torch.optim.Adam(net.parameters(), lr=a.lr)
for ep in range(8):
    tot = 0.0
    for xb, yb in torch.utils.data.DataLoader(train, batch_size=400, shuffle=True):
        loss = nn.functional.mse_loss(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() / 6
        time.sleep(0.06)
    print(f"trial {a.number} epoch {ep + 1}/8 train_mse {tot:.4f}", flush=True)
with torch.no_grad():
    xv, yv = zip(*val)
    rmse = float(((net(torch.stack(xv)) - torch.stack(yv)) ** 2).mean().sqrt())
json.dump({"val_rmse": round(rmse, 5)}, open(f"trials/{a.number:03d}.json", "w"))
