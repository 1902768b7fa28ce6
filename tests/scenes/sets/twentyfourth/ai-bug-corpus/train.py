"""Character LM on a corpus of bug reports (for the triage bot). Shows a training example and a sample now and then."""
import os
import random
import time

import torch
import torch.nn as nn

torch.manual_seed(0)
random.seed(0)
torch.set_num_threads(1)
docs = open("reports.txt", encoding="utf-8").read().split("\n%%\n")
chars = sorted(set("".join(docs)))
enc = {c: i for i, c in enumerate(chars)}
print(f"{len(docs)} reports, {len(chars)} characters", flush=True)


class CharLM(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.emb = nn.Embedding(len(chars), d)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.out = nn.Linear(d, len(chars))

    def forward(self, x, h=None):
        o, h = self.rnn(self.emb(x), h)
        return self.out(o), h


def sample(model, start, n=120):
    out, h, x = start, None, torch.tensor([[enc[c] for c in start]])
    with torch.no_grad():
        for _ in range(n):
            z, h = model(x, h)
            k = torch.multinomial((z[0, -1] / 0.7).softmax(-1), 1).item()
            out += chars[k]
            x = torch.tensor([[k]])
    return out


model = CharLM()
opt = torch.optim.AdamW(model.parameters(), lr=4e-3)
os.makedirs("ckpt", exist_ok=True)
text = "\n".join(docs)
for step in range(1, 421):
    at = [random.randrange(len(text) - 49) for _ in range(8)]
    ids = torch.tensor([[enc[c] for c in text[a:a + 49]] for a in at])
    z, _ = model(ids[:, :-1])
    loss = nn.functional.cross_entropy(z.reshape(-1, len(chars)), ids[:, 1:].reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.24)
    if step % 10 == 0:
        print(f"step {step:4d} | loss {loss.item():.4f} | {8 * 48 * 10} chars", flush=True)
    if step % 60 == 0:
        print("--- example from the corpus ---\n" + random.choice(docs) + "\n--- sample ---\n" + sample(model, "Error"), flush=True)
        print("--- end of sample ---", flush=True)
    if step % 100 == 0:
        torch.save(model.state_dict(), f"ckpt/{step}.pt")
        print(f"saved ckpt/{step}.pt", flush=True)
print("training finished", flush=True)
