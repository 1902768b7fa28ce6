"""Supervised tuning on instruction shards. Resumes from the newest checkpoint."""
import glob
import gzip
import json
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH, SEQ = 6, 96


def emit(**kw):
    print(json.dumps({"ts": round(time.time(), 2), **kw}), flush=True)


def rows(skip):
    n = 0
    for path in sorted(glob.glob("shards/part-*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as f:
            for line in f:
                n += 1
                if n > skip:
                    r = json.loads(line)
                    yield r["instruction"] + " => " + r["output"]


class LM(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.emb = nn.Embedding(128, d)
        self.rnn = nn.LSTM(d, d, batch_first=True)
        self.out = nn.Linear(d, 128)

    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])


torch.manual_seed(0)
m = LM()
opt = torch.optim.AdamW(m.parameters(), lr=3e-3)
step = 0
os.makedirs("ckpt", exist_ok=True)
saved = sorted(glob.glob("ckpt/*.pt"))
if saved:
    s = torch.load(saved[-1])
    m.load_state_dict(s["model"])
    opt.load_state_dict(s["opt"])
    step = s["step"]
emit(event="start", resumed_from=saved[-1] if saved else None, step=step, total_steps=240)
buf = []
for text in rows(step * BATCH):
    buf.append([ord(c) for c in text[:SEQ]])
    if len(buf) < BATCH:
        continue
    x = torch.tensor([b + [0] * (SEQ - len(b)) for b in buf])
    buf = []
    loss = F.cross_entropy(m(x[:, :-1]).reshape(-1, 128), x[:, 1:].reshape(-1), ignore_index=0)
    opt.zero_grad()
    loss.backward()
    opt.step()
    step += 1
    time.sleep(0.35)
    if step % 4 == 0:
        emit(event="train", step=step, loss=round(loss.item(), 4))
    if step % 40 == 0:
        torch.save({"model": m.state_dict(), "opt": opt.state_dict(), "step": step}, f"ckpt/step{step:06d}.pt")
        emit(event="checkpoint", path=f"ckpt/step{step:06d}.pt")
emit(event="end", step=step)
