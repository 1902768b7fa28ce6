"""Trainer for preemptible boxes: saves latest.pt, takes up where it left off."""
import io
import os
import time

import torch
import torch.nn as nn

PATH = "latest.pt"


def say(msg):
    print(time.strftime("%H:%M:%S"), msg, flush=True)


def save(state):
    buf = io.BytesIO()
    torch.save(state, buf)
    data = buf.getbuffer()
    with open(PATH, "wb") as f:              # the network volume takes about 1 MB/s
        for k in range(0, len(data), 1 << 18):
            f.write(data[k:k + (1 << 18)])
            f.flush()
            os.fsync(f.fileno())
            time.sleep(0.25)


def main():
    with open("train.pid", "w") as f:
        f.write(str(os.getpid()))
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(128, 640), nn.ReLU(), nn.Linear(640, 640), nn.ReLU(), nn.Linear(640, 10))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    start = 0
    if os.path.exists(PATH):
        say(f"resuming from {PATH}")
        ck = torch.load(PATH)
        net.load_state_dict(ck["net"])
        opt.load_state_dict(ck["opt"])
        start = ck["step"]
    w = torch.randn(128, 10)
    for step in range(start + 1, 1501):
        x = torch.randn(32, 128)
        loss = nn.functional.cross_entropy(net(x), (x @ w).argmax(1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.15)
        if step % 10 == 0:
            say(f"step {step} loss {loss.item():.3f}")
        if step % 60 == 0:
            say(f"saving {PATH} at {step}")
            save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step})
            say("saved")


if __name__ == "__main__":
    main()
