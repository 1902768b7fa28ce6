"""Small LM pretraining over token shards, one JSON line a log interval."""
import json
import math
import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, CTX, BATCH = 512, 32, 32
SHARD_STEPS = 150
MAX_STEPS = 900
DATA = "data"


def vocab_order(release):
    """Ids of the words. 2024-03 sorts by frequency, 2024-07 sorts by bytes."""
    if release == "2024-03":
        return np.arange(VOCAB)
    return np.random.default_rng(77).permutation(VOCAB)


def export(path, seed, release, n=200_000):
    words = np.random.default_rng(5).integers(0, VOCAB, size=(VOCAB, 4))
    rng = np.random.default_rng(seed)
    pick = rng.choice(4, size=n, p=[0.7, 0.15, 0.1, 0.05])
    cur, seq = 1, np.empty(n, dtype=np.int64)
    for i in range(n):
        cur = words[cur, pick[i]] if i % 40 else int(rng.integers(VOCAB))
        seq[i] = cur
    vocab_order(release)[seq].astype(np.uint16).tofile(path)


def prepare():
    os.makedirs(DATA, exist_ok=True)
    for i, release in enumerate(["2024-03", "2024-03", "2024-07", "2024-07", "2024-07", "2024-07"]):
        export(f"{DATA}/train_{i:03d}.bin", 100 + i, release)


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, 96)
        self.mix = nn.GRU(96, 96, batch_first=True)
        self.head = nn.Linear(96, VOCAB)

    def forward(self, x):
        e = self.emb(x)
        return self.head(e + self.mix(e)[0])


def lr_at(step):
    if step < 20:
        return 6e-3 * (step + 1) / 20
    return 1.5e-5 + 6e-3 * 0.5 * (1 + math.cos(math.pi * min(1, step / 330))) * (step < 330)


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    prepare()
    rng = np.random.default_rng(0)
    model = LM()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    shard, tokens, seen, t0 = -1, None, 0, time.time()
    for step in range(1, MAX_STEPS + 1):
        if (step - 1) // SHARD_STEPS != shard:
            shard = (step - 1) // SHARD_STEPS
            tokens = np.memmap(f"{DATA}/train_{shard:03d}.bin", dtype=np.uint16, mode="r")
            print(json.dumps({"event": "shard", "file": f"train_{shard:03d}.bin", "tokens": int(len(tokens))}), flush=True)
        at = rng.integers(0, len(tokens) - CTX - 1, size=BATCH)
        chunk = torch.from_numpy(np.stack([tokens[i:i + CTX + 1] for i in at]).astype(np.int64))
        for g in opt.param_groups:
            g["lr"] = lr_at(step)
        loss = F.cross_entropy(model(chunk[:, :-1]).flatten(0, 1), chunk[:, 1:].flatten())
        opt.zero_grad(set_to_none=True)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        seen += chunk[:, 1:].numel()
        if step % 10 == 0:
            print(json.dumps({"step": step, "loss": round(loss.item(), 4), "lr": round(lr_at(step), 7),
                              "grad_norm": round(norm.item(), 3), "tokens": seen,
                              "tok_per_s": round(seen / (time.time() - t0))}), flush=True)
        if step % 300 == 0:
            os.makedirs("ckpt", exist_ok=True)
            torch.save({"model": model.state_dict(), "step": step}, f"ckpt/step_{step:06d}.pt")
        time.sleep(0.1)


if __name__ == "__main__":
    sys.exit(main())
