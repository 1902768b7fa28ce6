"""Byte language model on a spot box. State goes to last.pt on the (slow, rate-limited) network volume."""
import io
import os
import time

import torch
from torch import nn

torch.set_num_threads(1)
open("train.pid", "w").write(str(os.getpid()))
STATE = "volume/last.pt"
os.makedirs("volume", exist_ok=True)


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(128, 96)
        self.r = nn.GRU(96, 160, batch_first=True)
        self.o = nn.Linear(160, 128)

    def forward(self, x):
        return self.o(self.r(self.e(x))[0])


def save(step):
    print(f"[{time.strftime('%T')}] saving state at step {step}", flush=True)
    b = io.BytesIO()
    torch.save({"model": net.state_dict(), "opt": opt.state_dict(), "step": step}, b)
    with open(STATE, "wb") as f:
        data = b.getbuffer()
        for i in range(0, len(data), 1 << 16):
            # the volume throttles us when we write faster
            f.write(data[i:i + (1 << 16)])
            f.flush()
            time.sleep(0.19)
    print(f"[{time.strftime('%T')}] saved {len(data) / 1e6:.1f} MB", flush=True)


text = ("in the beginning the box was cheap and the queue was short . " * 50).encode()
data = torch.tensor(list(text))
net = LM()
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
step = 0
if os.path.exists(STATE):
    s = torch.load(STATE)
    net.load_state_dict(s["model"])
    opt.load_state_dict(s["opt"])
    step = s["step"]
    print(f"resumed at step {step}", flush=True)
while step < 900:
    i = torch.randint(0, len(data) - 33, (4,))
    b = torch.stack([data[k:k + 33] for k in i])
    loss = nn.functional.cross_entropy(net(b[:, :-1]).flatten(0, 1), b[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    step += 1
    time.sleep(0.24)
    if step % 10 == 0:
        print(f"[{time.strftime('%T')}] step {step} loss {loss.item():.4f} ppl {loss.exp().item():.2f}", flush=True)
    if step % 60 == 0:
        save(step)
