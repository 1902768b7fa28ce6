import fcntl
import json
import time

import numpy as np
import torch
from torch import nn

torch.manual_seed(8)
rng = np.random.default_rng(8)
N, W, B = 4096, 41, 64


def read_batch(f, lock):
    fcntl.flock(lock, fcntl.LOCK_SH)        # the set may be rewritten by the ingest job
    try:
        rows = []
        for i in rng.integers(0, N - 8, B // 8):
            f.seek(int(i) * W * 4)
            rows.append(np.frombuffer(f.read(8 * W * 4), dtype="float32").reshape(8, W))
        return torch.from_numpy(np.concatenate(rows).copy())
    finally:
        fcntl.flock(lock, fcntl.LOCK_UN)


net = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
seen, t_last = 0, time.time()
with open("data.bin", "rb") as f, open("data.lock") as lock:
    for step in range(1, 2001):
        b = read_batch(f, lock)
        loss = ((net(b[:, :40]).squeeze(1) - b[:, 40]) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.22)
        seen += B
        if step % 2 == 0:
            now = time.time()
            print(json.dumps({"step": step, "loss": round(loss.item(), 4),
                              "samples_per_s": round(2 * B / (now - t_last), 1),
                              "seen": seen}), flush=True)
            t_last = now
        if step % 60 == 0:
            torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step}, "last.pt")
