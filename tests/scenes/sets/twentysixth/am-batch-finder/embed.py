"""Contrastive training of a sentence-embedding model; the batch size is searched from the top."""
import json
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate.utils import find_executable_batch_size
from rich.console import Console

con = Console(width=110, force_terminal=False, log_path=False)
torch.set_num_threads(1)
torch.manual_seed(2)
V, L, D, TOPICS = 400, 24, 256, 200
topic_words = torch.randint(0, V, (TOPICS, 12))


def pairs(n):
    t = torch.randint(0, TOPICS, (n, 1))
    return (topic_words[t, torch.randint(0, 12, (n, L))], topic_words[t, torch.randint(0, 12, (n, L))], t.squeeze(1))


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.drop, self.fc = nn.Embedding(V, D), nn.Dropout(0.1), nn.Linear(D, 96)

    def forward(self, x):
        return F.normalize(self.fc(self.drop(self.emb(x)).mean(1)), dim=-1)


@torch.no_grad()
def recall(net, n=150):
    net.eval()
    q, d, t = pairs(n)
    hit = (t[(net(q) @ net(d).T).argmax(1)] == t).float().mean().item()
    net.train()
    return hit


tries = 0


def smaller():
    global size
    size //= 16
    con.log(f"[yellow]does not fit[/], batch size down to {size}")
    return size


size = 262144


@find_executable_batch_size(starting_batch_size=size, reduce_batch_size_fn=smaller)
def train(batch_size):
    con.log(f"trying batch size {batch_size}")
    net = Embedder()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    f = open("metrics.jsonl", "w", buffering=1)
    for step in range(1, 401):
        q, d, _ = pairs(batch_size)
        try:
            s = net(q) @ net(d).T / 0.07
            loss = F.cross_entropy(s, torch.arange(len(q)))
            opt.zero_grad()
            loss.backward()
        except RuntimeError as e:
            con.log("step failed:", repr(e)[:300])
            raise
        opt.step()
        time.sleep(0.22)
        f.write(json.dumps({"step": step, "loss": round(loss.item(), 4)}) + "\n")
        if step % 10 == 0:
            con.log(f"step {step:3d}/400  infonce {loss.item():.4f}")
        if step % 60 == 0:
            torch.save(net.state_dict(), f"embedder_{step}.pt")
            con.log(f"step {step:3d} recall@1 {recall(net):.3f}, saved embedder_{step}.pt")


train()
con.log("finished")
