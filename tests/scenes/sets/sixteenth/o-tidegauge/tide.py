"""Storm surge forecast from tide gauges; goes on from state.pt where there is one."""
import io
import os
import sys
import time

import torch
from loguru_like import logger
from torch import nn

STATE = "state.pt"


class Surge(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(3, 96, batch_first=True)
        self.out = nn.Linear(96, 1)

    def forward(self, x):
        return self.out(self.rnn(x)[0][:, -1])


def save(model, opt, step):
    """Copy to the project share in chunks; the share takes about 60 kB/s."""
    buf = io.BytesIO()
    torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "step": step}, buf)
    logger.info(f"writing {STATE} ({buf.tell() // 1024} kB) at step {step}")
    data = buf.getvalue()
    with open(STATE, "wb") as f:
        for k in range(0, len(data), 60_000):
            f.write(data[k:k + 60_000])
            f.flush()
            time.sleep(0.9)
    logger.success(f"{STATE} written")


def series(n):
    t = torch.rand(n, 1) * 100 + torch.arange(25)[None] * 0.5
    x = torch.stack([t.sin(), (t * 0.52).sin(), torch.randn_like(t)], -1)
    return x[:, :24], (x[:, 24, :1] + 0.5 * x[:, 24, 1:2])


def main():
    with open("tide.pid", "w") as f:
        f.write(str(os.getpid()))
    torch.set_num_threads(1)
    model = Surge()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    first = 0
    if os.path.exists(STATE):
        logger.info(f"resuming from {STATE}")
        state = torch.load(STATE)
        model.load_state_dict(state["model"])
        opt.load_state_dict(state["opt"])
        first = state["step"]
    for step in range(first + 1, 4001):
        x, y = series(16)
        loss = nn.functional.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.2)
        if step % 10 == 0:
            logger.info(f"step={step} mse={loss.item():.4f}")
        if step % 60 == 0:
            save(model, opt, step)


if __name__ == "__main__":
    sys.exit(main())
