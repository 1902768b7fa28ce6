"""one trial: python trial.py --layers 4 --out trials/03"""
import argparse, csv, os, time
import torch
import torch.nn as nn

p = argparse.ArgumentParser()
p.add_argument("--layers", type=int, required=True)
p.add_argument("--lr", type=float, default=1e-3)
p.add_argument("--steps", type=int, default=60)
p.add_argument("--out", required=True)
a = p.parse_args()
torch.manual_seed(a.layers)
torch.set_num_threads(1)
os.makedirs(a.out, exist_ok=True)
dims = [32] + [48] * a.layers
body = [m for i in range(a.layers) for m in (nn.Linear(dims[i], dims[i + 1]), nn.Tanh())]
model = nn.Sequential(*body, nn.Linear(48, 1))
opt = torch.optim.Adam(model.parameters(), lr=a.lr)
table = csv.writer(open(f"{a.out}/metrics.csv", "w", buffering=1))
table.writerow(["step", "loss"])
for step in range(1, a.steps + 1):
    x = torch.randn(64, 32)
    loss = (model(x).squeeze(1) - x[:, :4].prod(1).tanh()).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    print(f"step {step:4d}  loss {loss.item():.5f}", flush=True)
    for n, q in model.named_parameters():
        print(f"    {n:24s} |w| {q.norm().item():12.6f}   |g| {q.grad.norm().item():14.8f}   "
              f"max|g| {q.grad.abs().max().item():14.8f}", flush=True)
    opt.step()
    time.sleep(0.15)
    table.writerow([step, f"{loss.item():.5f}"])
torch.save(model.state_dict(), f"{a.out}/model.pt")
print(f"final {loss.item():.5f}", flush=True)
