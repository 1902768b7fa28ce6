"""Continue the pretraining of a small LM on law texts. Base model: web text, learning rate fully decayed.
The learning rate is warmed up again from zero (re-warming), so the loss goes up first; that is known and wanted."""
import math
import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

V, T, B = 300, 24, 40
WARMUP, TOTAL = 120, 420
PEAK = float(os.environ.get("PEAK_LR", "0.035"))


class Source:
    def __init__(self, seed, p):
        rng = np.random.default_rng(seed)
        self.next, self.p = np.random.default_rng(9).integers(0, V, (V, 5)), p
        self.rng = rng

    def batch(self, b=B):
        seq = np.empty((b, T + 1), dtype=np.int64)
        seq[:, 0] = self.rng.integers(0, V, b)
        for t in range(T):
            seq[:, t + 1] = self.next[seq[:, t], self.rng.choice(5, size=b, p=self.p)]
        s = torch.from_numpy(seq)
        return s[:, :-1], s[:, 1:]


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.rnn, self.head = nn.Embedding(V, 64), nn.GRU(64, 64, batch_first=True), nn.Linear(64, V)

    def forward(self, x):
        e = self.emb(x)
        return self.head(e + self.rnn(e)[0])


def base_model(path="base/web_small.pt"):
    model = LM()
    if not os.path.exists(path):
        os.makedirs("base", exist_ok=True)
        web, opt = Source(1, [0.5, 0.2, 0.15, 0.1, 0.05]), torch.optim.Adam(model.parameters(), lr=1e-2)
        for k in range(130):
            for g in opt.param_groups:
                g["lr"] = 1e-2 * (1 - k / 131)
            x, y = web.batch(48)
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
            opt.zero_grad()
            loss.backward()
            opt.step()
        torch.save(model.state_dict(), path)
    model.load_state_dict(torch.load(path))
    return model


def lr(it):
    if it <= WARMUP:
        return PEAK * it / WARMUP
    return PEAK * 0.5 * (1 + math.cos(math.pi * (it - WARMUP) / (TOTAL - WARMUP)))


def main():
    torch.manual_seed(2)
    torch.set_num_threads(1)
    model = base_model()
    print(f"number of parameters: {sum(p.numel() for p in model.parameters()) / 1e6:.2f}M", flush=True)
    print(f"re-warming the learning rate: 0 -> {PEAK} in {WARMUP} iterations, then cosine to 0 at {TOTAL}; "
          "the loss is expected to rise during the warm-up", flush=True)
    law = Source(2, [0.55, 0.2, 0.12, 0.08, 0.05])
    opt = torch.optim.Adam(model.parameters(), lr=0.0)
    for it in range(TOTAL + 1):
        t0 = time.time()
        for g in opt.param_groups:
            g["lr"] = lr(it)
        x, y = law.batch()
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        time.sleep(0.2)
        if it % 10 == 0:
            print(f"iter {it}: loss {loss.item():.4f}, time {(time.time() - t0) * 1000:.2f}ms, lr {lr(it):.2e}", flush=True)
        if it and it % 200 == 0:
            print("saving checkpoint to out-law", flush=True)
            os.makedirs("out-law", exist_ok=True)
            torch.save({"model": model.state_dict(), "iter_num": it}, "out-law/ckpt.pt")
    torch.save({"model": model.state_dict(), "iter_num": TOTAL}, "out-law/ckpt.pt")
    print("training finished", flush=True)


if __name__ == "__main__":
    sys.exit(main())
