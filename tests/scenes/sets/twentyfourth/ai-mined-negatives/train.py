"""Triplet training of a sentence encoder with mixed precision scaler; hard negatives from epoch 3 on."""
import os
import random
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)
random.seed(1)
torch.set_num_threads(1)
STEP_S = float(os.environ.get("STEP_S", "0.2"))
PER_EPOCH, EPOCHS, BATCH = 90, 7, 16

WORDS = [f"w{i}" for i in range(300)]


def sentence(topic):
    return [random.choice(range(topic * 30, topic * 30 + 30)) for _ in range(8)]


# the crawl: (topic, tokens); mirrors of the same page come along with it
crawl = []
for _ in range(200):
    t = random.randrange(10)
    s = sentence(t)
    crawl += [(t, s), (t, list(s))]


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.EmbeddingBag(300, 64, mode="mean")
        self.net = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 32))

    def forward(self, x):
        return self.net(self.emb(x))


def dist(a, b):
    return (a - b).pow(2).sum(-1).sqrt()


model = Encoder()
opt = torch.optim.AdamW(model.parameters(), lr=4e-4)
scaler = torch.amp.GradScaler("cpu", growth_interval=200)
X = torch.tensor([s for _, s in crawl])
topics = [t for t, _ in crawl]
by_topic = {t: [i for i, u in enumerate(topics) if u == t] for t in set(topics)}
os.makedirs("out", exist_ok=True)
step = 0
hard = None
for epoch in range(EPOCHS):
    if epoch >= 3:
        with torch.no_grad():
            e = model(X)
            d = torch.cdist(e, e, compute_mode="donot_use_mm_for_euclid_dist")
            d.fill_diagonal_(float("inf"))
            hard = d.argmin(1)
        print(f"epoch {epoch}: mining hard negatives for {len(X)} sentences done", flush=True)
    for _ in range(PER_EPOCH):
        ia = [random.randrange(len(X)) for _ in range(BATCH)]
        ip = [random.choice([j for j in by_topic[topics[i]] if crawl[j][1] != crawl[i][1]]) for i in ia]
        if hard is None:
            neg = [random.randrange(len(X)) for _ in range(BATCH)]
            neg = [n if topics[n] != topics[i] else (n + 11) % len(X) for n, i in zip(neg, ia)]
        else:
            neg = [int(hard[i]) for i in ia]
        a, n = model(X[ia]), model(X[neg])
        # the positive is another text of the topic, with a little word dropout
        p = model(torch.where(torch.rand(BATCH, 8) < 0.15, torch.randint(0, 300, (BATCH, 8)), X[ip]))
        loss = F.relu(1.0 + dist(a, p) - dist(a, n)).mean()
        opt.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
        step += 1
        time.sleep(STEP_S)
        if step % 10 == 0:
            print(f"epoch {epoch} step {step} loss {loss.item():.4f} scale {scaler.get_scale():.4g} lr {opt.param_groups[0]['lr']:.1e}", flush=True)
    torch.save(model.state_dict(), f"out/encoder-{epoch}.pt")
    print(f"saved out/encoder-{epoch}.pt", flush=True)
print("training finished", flush=True)
