import argparse
import inspect
import os
import sys
import time
from datetime import datetime

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

ap = argparse.ArgumentParser()
ap.add_argument("--epochs", type=int, default=8)
ap.add_argument("--items", type=int, default=500)
ap.add_argument("--dim", type=int, default=48)
opt = ap.parse_args()


def say(level, msg):
    f = inspect.stack()[1]
    now = datetime.now().strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    where = "__main__:" + f.function + ":" + str(f.lineno)
    print(f"{now} | {level:<8} | {where} - {msg}", file=sys.stderr, flush=True)


def sessions(n, seed):
    r = np.random.default_rng(seed)
    out = np.zeros((n, 12), dtype=np.int64)
    out[:, 0] = r.integers(0, opt.items, n)
    for t in range(1, 12):
        nxt = (out[:, t - 1] * 7 + 13) % opt.items
        out[:, t] = np.where(r.random(n) < 0.75, nxt, r.integers(0, opt.items, n))
    return torch.from_numpy(out)


class SeqRec(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(opt.items, opt.dim)
        self.gru = nn.GRU(opt.dim, opt.dim, batch_first=True)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        h, _ = self.gru(self.drop(self.emb(x)))
        return h @ self.emb.weight.T


def evaluate(model, data):
    model.eval()
    with torch.no_grad():
        rank = model(data[:, :-1])[:, -1].argsort(descending=True)
    pos = (rank == data[:, -1:]).nonzero()[:, 1]
    hit = pos < 10
    model.train()
    time.sleep(1.5)
    return hit.float().mean().item(), (hit / torch.log2(pos + 2.0)).mean().item()


def main():
    torch.manual_seed(3)
    say("INFO", f"args: {vars(opt)}")
    train, valid = sessions(3200, 1), sessions(400, 2)
    say("INFO", f"loaded {len(train)} train / {len(valid)} valid sessions")
    model = SeqRec()
    optim = torch.optim.Adam(model.parameters(), lr=5e-3)
    os.makedirs("ckpt", exist_ok=True)
    best = 0.0
    for epoch in range(opt.epochs):
        t0, total = time.time(), 0.0
        parts = torch.randperm(len(train)).split(64)
        for i, part in enumerate(parts):
            x = train[part]
            loss = F.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
            optim.zero_grad()
            loss.backward()
            optim.step()
            total += loss.item()
            time.sleep(0.06)
            if (i + 1) % 25 == 0:
                say("DEBUG", f"epoch={epoch} batch={i + 1}/{len(parts)} loss={total / (i + 1):.4f}")
        recall, ndcg = evaluate(model, valid)
        say("INFO", f"epoch={epoch} train_loss={total / len(parts):.4f} recall@10={recall:.4f} ndcg@10={ndcg:.4f} "
                    f"({time.time() - t0:.1f}s)")
        torch.save({"model": model.state_dict(), "epoch": epoch}, "ckpt/last.pt")
        if ndcg > best:
            best = ndcg
            torch.save(model.state_dict(), "ckpt/best.pt")
            say("SUCCESS", f"new best ndcg@10={best:.4f}, saved ckpt/best.pt")
    np.save("ckpt/item_vectors.npy", model.emb.weight.detach().numpy())
    say("SUCCESS", f"done, best ndcg@10={best:.4f}")


main()
