import os
import random
import time

import torch
import torch.nn as nn

torch.set_num_threads(1)
TEXT = ("the quick brown fox jumps over the lazy dog while the robot counts its steps and "
        "waits for the lamp to turn green again ") * 40
VOCAB = sorted(set(TEXT))
IDX = {c: i for i, c in enumerate(VOCAB)}
CKPT = "last.ckpt"


class CharRNN(nn.Module):
    def __init__(self, n, d=96):
        super().__init__()
        self.emb = nn.Embedding(n, d)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.out = nn.Linear(d, n)

    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])


def save(state):
    """The share is slow: write in pieces, so that others get their turn."""
    import io
    buf = io.BytesIO()
    torch.save(state, buf)
    data = buf.getvalue()
    with open(CKPT, "wb") as f:
        for at in range(0, len(data), 1 << 17):
            f.write(data[at:at + (1 << 17)])
            f.flush()
            time.sleep(0.5)


def main():
    with open("char.pid", "w") as f:
        f.write(str(os.getpid()))
    ids = torch.tensor([IDX[c] for c in TEXT])
    model = CharRNN(len(VOCAB))
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    start = 0
    if os.path.exists(CKPT):
        state = torch.load(CKPT)
        model.load_state_dict(state["model"])
        opt.load_state_dict(state["opt"])
        start = state["step"]
    print(f"[char] start at step {start}, vocab {len(VOCAB)}", flush=True)
    for step in range(start + 1, 1501):
        at = [random.randrange(len(ids) - 33) for _ in range(8)]
        x = torch.stack([ids[a:a + 32] for a in at])
        y = torch.stack([ids[a + 1:a + 33] for a in at])
        loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.1)
        if step % 10 == 0:
            print(f"[char] step {step} loss {loss.item():.4f}", flush=True)
        if step % 50 == 0:
            print(f"[char] writing {CKPT} at step {step}", flush=True)
            save({"model": model.state_dict(), "opt": opt.state_dict(), "step": step})


if __name__ == "__main__":
    main()
