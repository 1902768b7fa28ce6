import copy
import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import time
import torch
from safetensors.torch import save_file
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(10)
STEPS, AVG_RESTART, SAVE = 520, 200, 60
net = nn.Sequential(nn.Linear(17, 96), nn.SiLU(), nn.Linear(96, 96), nn.SiLU(), nn.Linear(96, 16))
avg = copy.deepcopy(net).requires_grad_(False)
n_avg = torch.ones(())
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
os.makedirs("weights", exist_ok=True)


@torch.no_grad()
def average():
    global n_avg
    for a, p in zip(avg.parameters(), net.parameters()):
        a += (p - a) / n_avg
    n_avg += 1


run = 0.0
for step in range(1, STEPS + 1):
    t = torch.rand(64, 1)
    x0 = torch.randn(64, 16) * 0.3 + torch.linspace(-1, 1, 16)
    eps = torch.randn_like(x0)
    pred = net(torch.cat([(1 - t) * x0 + t * eps, t], 1))
    loss = (pred - (eps - x0)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step == AVG_RESTART:
        n_avg.zero_()                   # forget the average of the first phase
        print("restarting the weight average", flush=True)
    average()
    run += loss.item()
    time.sleep(0.13)
    if step % 20 == 0:
        print(f"[{step:05d}/{STEPS}] mse={run / 20:.4f}", flush=True)
        run = 0.0
    if step % SAVE == 0:
        save_file({k: v.contiguous() for k, v in avg.state_dict().items()}, f"weights/avg_{step:05d}.safetensors")
        print(f"-> weights/avg_{step:05d}.safetensors", flush=True)
