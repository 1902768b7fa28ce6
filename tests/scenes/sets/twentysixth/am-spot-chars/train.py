"""Character-level LM on source code (after nanoGPT). Leaves with 75 when the spot instance is to go."""
import glob
import os
import signal
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
BLOCK, BATCH, MAX_ITERS, EVAL = 48, 12, 460, 50
lib = os.path.dirname(os.__file__)
text = "".join(open(f"{lib}/{n}.py").read() for n in ("textwrap", "argparse", "heapq", "queue", "shutil", "tempfile"))
chars = list(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])
cut = int(0.9 * len(data))
train_data, val_data = data[:cut], data[cut:]
print(f"corpus {len(data)} chars, vocab {len(chars)}", flush=True)


class CharLM(nn.Module):
    def __init__(self, v, d=96):
        super().__init__()
        self.emb, self.rnn, self.out = nn.Embedding(v, d), nn.GRU(d, 192, batch_first=True), nn.Linear(192, v)

    def forward(self, x, y):
        o, _ = self.rnn(self.emb(x))
        return F.cross_entropy(self.out(o).flatten(0, 1), y.flatten())


def get_batch(d):
    ix = torch.randint(len(d) - BLOCK - 1, (BATCH,))
    return torch.stack([d[i:i + BLOCK] for i in ix]), torch.stack([d[i + 1:i + BLOCK + 1] for i in ix])


leave = False


def on_term(sig, frame):
    global leave
    leave = True


signal.signal(signal.SIGTERM, on_term)
open("pid", "w").write(str(os.getpid()))
model = CharLM(len(chars))
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
it = 0
if os.path.exists("ckpt.pt"):
    ck = torch.load("ckpt.pt")
    model.load_state_dict(ck["model"])
    opt.load_state_dict(ck["opt"])
    it = ck["iter"]
    print(f"resumed from ckpt.pt at iter {it}", flush=True)


def save():
    torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "iter": it}, "ckpt.pt.new")
    os.replace("ckpt.pt.new", "ckpt.pt")
    print(f"saving checkpoint to ckpt.pt (iter {it})", flush=True)


while it < MAX_ITERS:
    t0 = time.time()
    loss = model(*get_batch(train_data))
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.2)
    it += 1
    if it % 5 == 0:
        print(f"iter {it}: loss {loss.item():.4f}, time {1000 * (time.time() - t0):.0f}ms", flush=True)
    if it % EVAL == 0:
        with torch.no_grad():
            v = sum(model(*get_batch(val_data)).item() for _ in range(4)) / 4
        print(f"step {it}: val loss {v:.4f}", flush=True)
        save()
    if leave:
        print("SIGTERM: spot notice, saving and leaving", flush=True)
        save()
        sys.exit(75)
print("reached max_iters", flush=True)
