import io
import os
import sys
import time

import torch
from torch import nn

torch.set_num_threads(1)
CKPT = "ckpt/last.pt"
V, D = 4000, 192


def throttled_write(path, blob, mb_per_s=2.5):
    """The home filer is shared by the whole group: stay below its fair-use limit."""
    chunk = 1 << 18
    with open(path, "wb") as f:
        for i in range(0, len(blob), chunk):
            f.write(blob[i:i + chunk])
            f.flush()
            time.sleep(chunk / (mb_per_s * 1e6))


def save(model, opt, step):
    print(f"step {step} | writing {CKPT}", flush=True)
    b = io.BytesIO()
    torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "step": step}, b)
    throttled_write(CKPT, b.getvalue())
    print(f"step {step} | {CKPT} written ({b.tell() / 1e6:.1f} MB)", flush=True)


class Mt(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(V, D)
        self.gru = nn.GRU(D, D, batch_first=True)
        self.out = nn.Linear(D, V)

    def forward(self, x):
        return self.out(self.gru(self.emb(x))[0])


def main():
    with open("train.pid", "w") as f:
        f.write(str(os.getpid()))
    os.makedirs("ckpt", exist_ok=True)
    torch.manual_seed(5)
    model = Mt()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    start = 0
    if os.path.exists(CKPT):
        print(f"resuming from {CKPT}", flush=True)
        s = torch.load(CKPT, map_location="cpu")
        model.load_state_dict(s["model"])
        opt.load_state_dict(s["opt"])
        start = s["step"]
        print(f"resumed at step {start}", flush=True)
    for step in range(start + 1, 1001):
        x = (torch.randint(0, 40, (4, 1)) * 7 + torch.arange(13) * 3) % 300
        loss = nn.functional.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.35)
        if step % 5 == 0:
            print(f"step {step} | nll {loss.item():.4f} | ppl {loss.exp().item():.2f}", flush=True)
        if step % 40 == 0:
            save(model, opt, step)
    return 0


if __name__ == "__main__":
    sys.exit(main())
