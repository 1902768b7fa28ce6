"""Reference-free preference tuning (length-normalised log-probs, margin gamma) of a small chat policy."""
import argparse
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from tqdm import tqdm

from pairs import build

ap = argparse.ArgumentParser()
ap.add_argument("--beta", type=float, default=2.0)
ap.add_argument("--gamma", type=float, default=0.5)
ap.add_argument("--max-length", type=int, default=56)
ap.add_argument("--batch", type=int, default=8)
ap.add_argument("--lr", type=float, default=3e-4)
ap.add_argument("--save-steps", type=int, default=50)
a = ap.parse_args()
torch.manual_seed(0)
rows, v = build()
PAD = v["<pad>"]


class Policy(nn.Module):
    def __init__(self, n, d=64):
        super().__init__()
        self.emb = nn.Embedding(n, d)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.head = nn.Linear(d, n)

    def forward(self, x):
        h, _ = self.rnn(self.emb(x))
        return self.head(h)


def collate(batch, which):
    ids = torch.full((len(batch), a.max_length), PAD)
    mask = torch.zeros(len(batch), a.max_length)
    for i, r in enumerate(batch):
        seq = (r[0] + r[which])[: a.max_length]
        ids[i, : len(seq)] = torch.tensor(seq)
        mask[i, len(r[0]) : len(seq)] = 1.0
    return ids, mask


def mean_logp(model, ids, mask):
    logits = model(ids[:, :-1]).log_softmax(-1)
    lp = logits.gather(-1, ids[:, 1:, None]).squeeze(-1)
    m = mask[:, 1:]
    return (lp * m).sum(-1) / m.sum(-1)


model = Policy(len(v))
opt = torch.optim.AdamW(model.parameters(), lr=a.lr)
steps = len(rows) // a.batch
print(f"***** Running preference tuning *****\n  pairs = {len(rows)}\n  batch = {a.batch}\n  total steps = {steps}", flush=True)
os.makedirs("out", exist_ok=True)
bar = tqdm(range(1, steps + 1), desc="simpo", mininterval=2)
for step in bar:
    batch = rows[(step - 1) * a.batch : step * a.batch]
    c = mean_logp(model, *collate(batch, 1))
    r = mean_logp(model, *collate(batch, 2))
    margin = a.beta * (c - r)
    loss = -F.logsigmoid(margin - a.gamma).mean() - 0.1 * c.mean()
    opt.zero_grad()
    loss.backward()
    gn = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    lr = a.lr * min(1.0, step / 20) * (1 - 0.9 * step / steps)
    for g in opt.param_groups:
        g["lr"] = lr
    opt.step()
    time.sleep(0.42)
    if step % 5 == 0:
        tqdm.write(str({"loss": round(loss.item(), 4), "grad_norm": round(float(gn), 4), "learning_rate": float(f"{lr:.3e}"),
                        "rewards/chosen": round(a.beta * c.mean().item(), 4), "rewards/rejected": round(a.beta * r.mean().item(), 4),
                        "rewards/accuracies": round((margin > 0).float().mean().item(), 4), "rewards/margins": round(margin.mean().item(), 4),
                        "epoch": round(step / steps, 3)}))
    if step % a.save_steps == 0:
        torch.save({"model": model.state_dict(), "step": step}, f"out/checkpoint-{step}.pt")
        tqdm.write(f"saved out/checkpoint-{step}.pt")
print("training finished")
