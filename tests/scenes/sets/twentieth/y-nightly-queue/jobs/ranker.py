"""Two-tower ranker, evaluated as it trains."""
import argparse
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

ap = argparse.ArgumentParser()
ap.add_argument("--steps", type=int, default=600)
args = ap.parse_args()
torch.set_num_threads(1)
torch.manual_seed(0)
USERS, ITEMS, DIM = 3000, 2500, 16
users, items = nn.Embedding(USERS, DIM), nn.Embedding(ITEMS, DIM)
opt = torch.optim.Adam([*users.parameters(), *items.parameters()], lr=0.01)
taste = torch.randn(USERS, 4), torch.randn(ITEMS, 4)
history = []


def evaluate():
    with torch.no_grad():
        scores = users.weight @ items.weight.T
        truth = (taste[0] @ taste[1].T).argmax(1)
        hit = (scores.topk(20, 1).indices == truth[:, None]).any(1).float().mean().item()
    history.append({"scores": scores, "hit@20": hit})
    return hit


for step in range(1, args.steps + 1):
    u = torch.randint(0, USERS, (128,))
    i = torch.randint(0, ITEMS, (128,))
    like = ((taste[0][u] * taste[1][i]).sum(1) > 1).float()
    loss = F.binary_cross_entropy_with_logits((users(u) * items(i)).sum(1), like)
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.1)
    if step % 10 == 0:
        print(f"ranker: step {step}/{args.steps} bce={loss.item():.4f}", flush=True)
    if step % 40 == 0:
        print(f"ranker: eval step {step} hit@20={evaluate():.4f} best={max(h['hit@20'] for h in history):.4f}", flush=True)
os.makedirs("models", exist_ok=True)
torch.save({"u": users.state_dict(), "i": items.state_dict()}, "models/ranker.pt")
print("ranker: wrote models/ranker.pt", flush=True)
