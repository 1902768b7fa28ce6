import sys
import time

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(7)


def kv(msg, **f):
    pairs = " ".join(f"{k}={v}" for k, v in f.items())
    print(f'ts={time.strftime("%Y-%m-%dT%H:%M:%S")} level=info msg="{msg}" {pairs}', flush=True)


PHASES = [("len8", 8, 3, 160), ("len16", 16, 9, 160), ("len32", 32, 30, 200), ("len32-noisy", 32, 40, 160)]
VOCAB = 48
emb = nn.Embedding(VOCAB, 32)
rnn = nn.GRU(32, 48, batch_first=True)
head = nn.Linear(48, VOCAB)
params = [*emb.parameters(), *rnn.parameters(), *head.parameters()]
opt = torch.optim.Adam(params, lr=6e-3)


def batch(length, symbols):
    """Repeat-after-me: predict the symbol seen two steps ago."""
    x = torch.randint(0, symbols, (24, length))
    y = torch.roll(x, 2, dims=1)
    return x, y


kv("run started", phases=len(PHASES), params=sum(p.numel() for p in params))
step = 0
for number, (name, length, symbols, steps) in enumerate(PHASES, 1):
    kv("curriculum phase", phase=f"{number}/{len(PHASES)}", name=name, seq_len=length, symbols=symbols)
    for g in opt.param_groups:
        g["lr"] = 6e-3 / number
    for i in range(steps):
        step += 1
        x, y = batch(length, symbols)
        h, _ = rnn(emb(x))
        logits = head(h[:, 2:])
        loss = nn.functional.cross_entropy(logits.reshape(-1, VOCAB), y[:, 2:].reshape(-1))
        opt.zero_grad()
        loss.backward()
        gn = nn.utils.clip_grad_norm_(params, 1.0)
        opt.step()
        time.sleep(0.05)
        if step % 10 == 0:
            kv("train", step=step, phase=name, loss=f"{loss.item():.4f}", grad_norm=f"{gn.item():.3f}", clipped=str(gn.item() > 1).lower())
    torch.save({"emb": emb.state_dict(), "rnn": rnn.state_dict(), "head": head.state_dict()}, f"phase{number}.pt")
    kv("checkpoint", path=f"phase{number}.pt")
kv("run finished", steps=step)
sys.exit(0)
