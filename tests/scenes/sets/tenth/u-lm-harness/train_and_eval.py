import argparse
import json
import math
import random
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from tqdm import tqdm

ap = argparse.ArgumentParser()
ap.add_argument("--cfg")
cfg = json.load(open(ap.parse_args().cfg))
torch.manual_seed(1)
random.seed(1)
SUBJ, VERB, OBJ = "the cat|a dog|my aunt|the boss".split("|"), "sees|likes|finds".split("|"), "fish|rain|coins".split("|")


def text(n):
    return " ".join(f"{random.choice(SUBJ)} {random.choice(VERB)} {random.choice(OBJ)}." for _ in range(n))


class LM(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.e, self.r, self.o = nn.Embedding(256, d), nn.GRU(d, d, batch_first=True), nn.Linear(d, 256)

    def forward(self, x):
        return self.o(self.r(self.e(x))[0])


corpus = torch.tensor(list(text(3000).encode()))
lm = LM(cfg["dim"])
opt = torch.optim.Adam(lm.parameters(), lr=cfg["lr"])
print(f"training {sum(p.numel() for p in lm.parameters())} parameters on {len(corpus)} bytes")
for step in range(1, cfg["steps"] + 1):
    i = torch.randint(0, len(corpus) - 65, (16,))
    x = torch.stack([corpus[j:j + 65] for j in i])
    loss = F.cross_entropy(lm(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(lm.parameters(), 1.0)
    opt.step()
    time.sleep(0.09)
    if step % 20 == 0:
        print(f"step {step:>4} | loss {loss.item():.3f} | ppl {math.exp(loss.item()):.2f}")
torch.save(lm.state_dict(), "lm.pt")
print("saved lm.pt, starting evaluation harness")
lm.eval()


@torch.no_grad()
def nll(s):
    x = torch.tensor([list(s.encode())])
    return F.cross_entropy(lm(x[:, :-1])[0], x[0, 1:]).item()


@torch.no_grad()
def complete(s, n):
    ids = list(s.encode())
    for _ in range(n):
        ids.append(lm(torch.tensor([ids]))[0, -1].argmax().item())
    return bytes(ids[-n:]).decode("latin1")


def examples(task):
    if task.endswith("_ppl"):
        src = {"wiki_ppl": lambda: text(4), "code_ppl": lambda: "for i in range(10): x[i] = y",
               "thai_ppl": lambda: "สวัสดีครับ ยินดีต้อนรับ"}[task]
        return [lambda: nll(src()) for _ in range(20)]
    if task == "copy_em":
        return [lambda w=w: float(complete(f"{w} {w} ", 3) == w[:3]) for w in ["xqz", "bnm", "wkp"] * 6]
    if task == "add_em":
        return [lambda k=k: float(complete(f"{k}+1=", 1) == str(k + 1)) for k in range(8)] * 2
    if task == "cloze_acc":
        return [lambda: float(complete("my aunt lik", 2) == "es") for _ in range(16)]
    return [lambda: 0.0] * 14 if task == "toxicity_auc" else []


rows = []
for task in cfg["tasks"]:
    got = []
    for ex in tqdm(examples(task), desc=task, mininterval=2.0, ncols=80):
        got.append(ex())
        time.sleep(0.4)
    value = float(np.mean(got)) if task != "bias_gap" else float(np.mean(np.array(got)))
    rows.append((task, math.exp(value) if task.endswith("_ppl") else value, len(got)))
print(f"\n|{'task':<14}|{'value':>10}|{'n':>4}|\n|{'-' * 14}|{'-' * 9}:|{'-' * 3}:|")
for task, v, n in rows:
    print(f"|{task:<14}|{v:>10.3f}|{n:>4}|")
json.dump({t: (None if math.isnan(v) else v) for t, v, _ in rows}, open("results.json", "w"))
print("results.json written")
