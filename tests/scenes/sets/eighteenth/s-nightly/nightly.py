import argparse
import io
import os
import time

import torch
from torch import nn

CKPT = "last.pt"


def say(msg):
    print(time.strftime("%H:%M:%S"), msg)


def write(state):
    """In slices, the NAS does not like bursts."""
    buf = io.BytesIO()
    torch.save(state, buf)
    data = buf.getbuffer()
    with open(CKPT, "wb") as f:
        for at in range(0, len(data), 1 << 18):
            f.write(data[at:at + (1 << 18)])
            f.flush()
            time.sleep(0.25)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=10)
    a = p.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(64, 512), nn.GELU(), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 1))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    first = 1
    if os.path.exists(CKPT):
        say(f"resuming from {CKPT}")
        state = torch.load(CKPT)
        model.load_state_dict(state["model"])
        opt.load_state_dict(state["opt"])
        first = state["epoch"] + 1
    w = torch.randn(64)
    for epoch in range(first, a.epochs + 1):
        for i in range(60):
            x = torch.randn(16, 64)
            y = torch.tanh(x @ w / 4)
            loss = nn.functional.smooth_l1_loss(model(x).squeeze(1), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            time.sleep(0.12)
            if i % 15 == 0:
                say(f"epoch {epoch} batch {i}/60 loss {loss.item():.5f}")
        say(f"epoch {epoch} writing {CKPT}")
        write({"model": model.state_dict(), "opt": opt.state_dict(), "epoch": epoch})
        say(f"epoch {epoch} saved")


if __name__ == "__main__":
    main()
