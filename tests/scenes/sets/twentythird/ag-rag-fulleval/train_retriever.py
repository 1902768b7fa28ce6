"""Dense retriever: in-batch negatives, now and then an evaluation over the whole passage collection."""
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
V, D, CORPUS = 300, 48, 20000
passages = torch.randint(0, V, (CORPUS, 10))
os.makedirs("ckpt", exist_ok=True)


def stamp(msg):
    print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {msg}", flush=True)


words = torch.randperm(V)  # the queries come in another language
enc = nn.EmbeddingBag(2 * V, D)
nn.init.normal_(enc.weight, std=0.5)
opt = torch.optim.Adam(enc.parameters(), 1.5e-2)


def query(p):
    return V + words[torch.stack([r[torch.randperm(10)[:4]] for r in p])]


def evaluate(step):
    stamp(f"step {step}: encoding {CORPUS} passages and ranking 250 queries against all of them (takes about 50 s)")
    t0 = time.time()
    with torch.no_grad():
        emb = []
        for i in range(0, CORPUS, 200):
            emb.append(F.normalize(enc(passages[i:i + 200]), dim=-1))
            time.sleep(0.25)
        emb = torch.cat(emb)
        hit = 0
        for q in range(250):
            s = emb @ F.normalize(enc(query(passages[q:q + 1])), dim=-1).T
            hit += int(q in s.squeeze(1).topk(20).indices)
            time.sleep(0.1)
    stamp(f"step {step}: recall@20 {hit / 250:.4f} ({time.time() - t0:.0f} s)")
    torch.save(enc.state_dict(), f"ckpt/enc-{step}.pt")


for step in range(1, 281):
    p = passages[torch.randint(0, CORPUS, (48,))]
    loss = F.cross_entropy(enc(query(p)) @ enc(p).T / 2, torch.arange(48))
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.22)
    if step % 20 == 0:
        stamp(f"step {step}/280 loss {loss.item():.4f}")
    if step % 140 == 0:
        evaluate(step)
stamp("finished")
