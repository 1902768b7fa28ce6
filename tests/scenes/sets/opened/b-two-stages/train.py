import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np
import torch
from tqdm import tqdm

from store import Cached, Store

torch.manual_seed(0)
BATCH = 16
net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 1))
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
cache = Cached(Store(), capacity=400)
tqdm.write("warming the cache with stage 1 (320 samples)")
cache.warm(range(320))


def stage(name, n_samples, steps):
    tqdm.write(f"{name}: {n_samples} samples, {steps} steps")
    pos = 0
    with tqdm(total=steps, desc=name, mininterval=1.0) as bar:
        for _ in range(steps):
            ids = [(pos + k) % n_samples for k in range(BATCH)]
            pos += BATCH
            xs, ys = zip(*(cache.get(i) for i in ids))
            x, y = torch.from_numpy(np.stack(xs)), torch.from_numpy(np.stack(ys))[:, None]
            loss = torch.nn.functional.mse_loss(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            time.sleep(0.1)
            bar.set_postfix(loss=f"{loss.item():.4f}")
            bar.update(1)


stage("stage 1", 320, 300)
torch.save(net.state_dict(), "stage1.pt")
stage("stage 2", 640, 900)
torch.save(net.state_dict(), "stage2.pt")
