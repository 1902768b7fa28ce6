import argparse, time
import torch
from torch import nn
from model import Reranker, batch

ap = argparse.ArgumentParser()
ap.add_argument("--steps", type=int, required=True)
ap.add_argument("--out", required=True)
a = ap.parse_args()
g = torch.Generator().manual_seed(1)
torch.manual_seed(1)
net = Reranker()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(1, a.steps + 1):
    q, d, y = batch(64, g)
    loss = nn.functional.binary_cross_entropy_with_logits(net(q, d), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.22)
    if step % 10 == 0:
        print(f"[train] {step:4d}/{a.steps}  bce {loss.item():.4f}")
torch.save(net.state_dict(), a.out)
print(f"[train] wrote {a.out}")
