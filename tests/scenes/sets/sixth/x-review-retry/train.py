"""Bag-of-words sentiment, streamed from disk in file order, checkpoint every 40 steps."""
import json
import os
import time

import torch
from torch import nn

BATCH = 32
STEPS = 300
CKPT = "state/last.ckpt"


def stream(path, skip):
    with open(path, encoding="utf-8") as f:
        rows = []
        for line in f:
            row = json.loads(line)
            if skip > 0:
                skip -= 1
                continue
            rows.append(row)
            if len(rows) == BATCH:
                yield rows
                rows = []


def vector(text):
    v = torch.zeros(512)
    for w in text.split():
        v[sum(ord(c) * (k + 1) for k, c in enumerate(w)) % 512] += 1
    return v


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = nn.Sequential(nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 1))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    step = 0
    if os.path.exists(CKPT):
        s = torch.load(CKPT)
        net.load_state_dict(s["net"])
        opt.load_state_dict(s["opt"])
        step = s["step"]
        print(f"resuming from {CKPT} at step {step}")
    for rows in stream("reviews.jsonl", skip=step * BATCH):
        x = torch.stack([vector(r["text"]) for r in rows])
        y = torch.tensor([[float(r["stars"] > 3)] for r in rows])
        loss = nn.functional.binary_cross_entropy_with_logits(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.3)
        step += 1
        if step % 4 == 0:
            print(f"step {step:4d} loss {loss.item():.4f}")
        if step % 40 == 0:
            os.makedirs("state", exist_ok=True)
            torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step}, CKPT)
            print(f"checkpoint written at step {step}")
        if step == STEPS:
            break
    print("training complete")


if __name__ == "__main__":
    main()
