"""Multilingual toy translation model; languages by ISO 639-3 code (nan is Southern Min)."""
import os
import random
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
random.seed(0)
LANGS = ["deu", "hak", "nan", "yue"]
SENT = ["the old error was killed by a friend", "he failed the exam and lost his memory", "the fire was out at last",
        "a fatal mistake of the king", "the train crashed into the wall", "an exception proves the rule"]
words = sorted({w for s in SENT for w in s.split()})
V = len(words) + len(LANGS)
os.makedirs("ckpt", exist_ok=True)


def item():
    k, s = random.randrange(len(LANGS)), random.choice(SENT).split()
    ids = [words.index(w) for w in s]
    src = [len(words) + k] + [(i * (k + 2) + k) % len(words) for i in ids]
    return k, src, [0] + ids


class Net(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.e = nn.Embedding(V, d)
        self.r = nn.GRU(d, d, batch_first=True, bidirectional=True)
        self.o = nn.Linear(2 * d, len(words))

    def forward(self, x):
        return self.o(self.r(self.e(x))[0])


net = Net()
opt = torch.optim.Adam(net.parameters(), 4e-4)
mean = dict.fromkeys(LANGS, 3.4)
for step in range(1, 391):
    opt.zero_grad()
    for _ in range(4):
        k, src, tgt = item()
        loss = F.cross_entropy(net(torch.tensor([src]))[0], torch.tensor(tgt))
        (loss / 4).backward()
        mean[LANGS[k]] = 0.9 * mean[LANGS[k]] + 0.1 * loss.item()
    opt.step()
    time.sleep(0.28)
    if step % 10 == 0:
        print(f"step {step} | loss {sum(mean.values()) / 4:.3f} | " + " ".join(f"{c}-eng {v:.3f}" for c, v in mean.items()), flush=True)
    if step % 40 == 0:
        k, src, tgt = item()
        with torch.no_grad():
            hyp = net(torch.tensor([src]))[0].argmax(-1)[1:]
        print(f"  sample ({LANGS[k]} -> eng)  ref: {' '.join(words[i] for i in tgt[1:])}", flush=True)
        print(f"                        hyp: {' '.join(words[i] for i in hyp)}", flush=True)
    if step % 80 == 0:
        torch.save(net.state_dict(), f"ckpt/multi-{step}.pt")
        print(f"saved ckpt/multi-{step}.pt", flush=True)
print("languages done: deu hak nan yue", flush=True)
