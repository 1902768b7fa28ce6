"""Regression on sensor windows with Accelerate; shards come through ./cache (see fetch.py)."""
import argparse, os, subprocess, sys, time
import numpy as np
import torch
import torch.nn as nn
from accelerate import Accelerator
from accelerate.utils import set_seed
from tqdm.auto import tqdm

ap = argparse.ArgumentParser()
ap.add_argument("--steps", type=int, default=1500)
ap.add_argument("--base", default="60000")
ap.add_argument("--burst", default="12000000")
a = ap.parse_args()
set_seed(8)
torch.set_num_threads(1)
ROWS, DIM = 256, 128       # a shard: 128 KB


def make_cold():
    os.makedirs("cold", exist_ok=True)
    r = np.random.default_rng(0)
    for i in range(24):
        r.normal(size=(ROWS, DIM)).astype("<f4").tofile(f"cold/shard_{i:03d}.bin")


def windows(bs=64):
    i = 0
    while True:
        p = f"cache/{i:06d}.bin"
        while not os.path.exists(p):
            time.sleep(0.02)
        x = torch.from_numpy(np.fromfile(p, "<f4").reshape(ROWS, DIM))
        os.unlink(p)
        i += 1
        for k in range(0, ROWS, bs):
            yield x[k:k + bs]


make_cold()
acc = Accelerator(cpu=True, project_dir="exp")
net = nn.Sequential(nn.Linear(DIM, 128), nn.GELU(), nn.Linear(128, 1))
opt = torch.optim.AdamW(net.parameters(), 1e-3)
net, opt = acc.prepare(net, opt)
w = torch.randn(DIM, 1, generator=torch.Generator().manual_seed(1)) / DIM ** 0.5
feeder = subprocess.Popen([sys.executable, "fetch.py", a.base, a.burst])
try:
    src = windows()
    bar = tqdm(range(a.steps), desc="fit", disable=not acc.is_local_main_process)
    t_data = t_all = 0.0
    t0 = time.time()
    for step in bar:
        t = time.time()
        x = next(src)
        t_data += time.time() - t
        loss = nn.functional.mse_loss(net(x), torch.sin(2 * x @ w))
        acc.backward(loss)
        opt.step()
        opt.zero_grad()
        time.sleep(0.08)
        if (step + 1) % 20 == 0:
            dt = time.time() - t0
            bar.set_postfix(loss=f"{loss.item():.3f}", data_time=f"{t_data / 20:.3f}s", samples_s=f"{20 * 64 / dt:.0f}")
            t_data, t0 = 0.0, time.time()
        if (step + 1) % 200 == 0:
            acc.save_state(f"exp/state_{step + 1}")
finally:
    feeder.kill()
