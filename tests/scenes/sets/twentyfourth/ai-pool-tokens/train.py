"""LM fine-tuning; a pool of two processes normalises and tokenises the documents ahead of the training."""
import collections
import multiprocessing as mp
import os
import random
import time
import unicodedata

import torch
import torch.nn as nn

VOCAB, LEN = 512, 24
TEXT = ("the model reads a page of text and learns what comes next ", "rented machines are cheap at night ",
        "Straße und Brücke, naïve café, ångström ", "check the logs before you sleep ")


def tokenise(i):
    rnd = random.Random(i)
    out = []
    for _ in range(4):
        t = unicodedata.normalize("NFKD", "".join(rnd.choice(TEXT) for _ in range(2))).lower()
        out.append([ord(c) % VOCAB for c in t][: LEN + 1])
    time.sleep(0.5)      # decompress and clean a warc record
    return out


def main():
    open("train.pid", "w").write(str(os.getpid()))
    pool = mp.get_context("fork").Pool(2)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Embedding(VOCAB, 64), nn.Linear(64, 128), nn.GELU(), nn.Linear(128, VOCAB))
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    ahead = collections.deque(pool.apply_async(tokenise, (i,)) for i in range(4))
    nxt, t0 = 4, time.time()
    for step in range(1, 2001):
        ids = torch.tensor(ahead.popleft().get())
        ahead.append(pool.apply_async(tokenise, (nxt,)))
        nxt += 1
        loss = nn.functional.cross_entropy(model(ids[:, :-1]).reshape(-1, VOCAB), ids[:, 1:].reshape(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 10 == 0:
            print(f"[{time.time() - t0:7.1f}s] step {step}/2000 loss={loss.item():.4f} docs={step * 4}", flush=True)
        if step % 60 == 0:
            torch.save(model.state_dict(), "model.pt.tmp")
            os.replace("model.pt.tmp", "model.pt")
            print(f"saved model.pt (step {step})", flush=True)
    pool.close()


if __name__ == "__main__":
    main()
