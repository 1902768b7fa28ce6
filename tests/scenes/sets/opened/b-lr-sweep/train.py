import argparse
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import torch

ap = argparse.ArgumentParser()
ap.add_argument("--lr", type=float)
ap.add_argument("--seed", type=int, default=0)
ap.add_argument("--out")
a = ap.parse_args()
torch.manual_seed(a.seed)
w = torch.randn(6, 1)
net = torch.nn.Sequential(torch.nn.Linear(6, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=a.lr)
print(f"config: lr={a.lr} seed={a.seed} out={a.out}", flush=True)
for step in range(1, 81):
    x = torch.randn(64, 6)
    loss = ((net(x) - torch.sin(x @ w)) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.2)
    if step % 8 == 0:
        print(f"step {step}/80 loss {loss.item():.4f}", flush=True)
os.makedirs(a.out, exist_ok=True)
torch.save(net.state_dict(), f"{a.out}/model.pt")
print(f"saved {a.out}/model.pt", flush=True)
