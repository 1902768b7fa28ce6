import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import time
import warnings
from multiprocessing import shared_memory
import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(12)


class Pool:
    """shared block of molecules for helper processes"""

    def __init__(self, n):
        self.shm = shared_memory.SharedMemory(create=True, size=n * 20 * 4)
        self.array = np.frombuffer(self.shm.buf, dtype=np.float32, count=n * 20).reshape(n, 20)
        self.array[:] = np.random.default_rng(0).normal(size=(n, 20))

    def __del__(self):
        self.shm.close()              # raises at exit: the array still points into it


warnings.warn("torch_scatter not found, using the slow path", UserWarning)
pool = Pool(2000)
net = nn.Sequential(nn.Linear(20, 64), nn.ELU(), nn.Linear(64, 1))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
best = float("inf")
for epoch in range(1, 13):
    maes = []
    for k in torch.randperm(2000).split(50):
        x = torch.from_numpy(pool.array[k.numpy()])
        loss = (net(x) - x[:, :4].sum(1, keepdim=True)).abs().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        maes.append(loss.item())
        time.sleep(0.12)
    mae = float(np.mean(maes))
    flag = " *" if mae < best else ""
    best = min(best, mae)
    print(f"Epoch: {epoch:03d}, LR: 0.002, Loss: {mae:.7f}, Val MAE: {mae * 1.05:.7f}{flag}", flush=True)
torch.save(net.state_dict(), "gnn.pt")
print(f"Finished after 12 epochs, best {best:.5f}", flush=True)
