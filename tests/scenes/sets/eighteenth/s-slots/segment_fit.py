import argparse
import os
import signal
import sys
import time

import torch
from torch import nn

stop = False


def on_term(signum, frame):
    global stop
    print("got SIGTERM, will save after this step")
    stop = True


def save(path, **state):
    torch.save(state, path + ".tmp")
    os.replace(path + ".tmp", path)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--state", required=True)
    p.add_argument("--steps", type=int, default=500)
    a = p.parse_args()
    signal.signal(signal.SIGTERM, on_term)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    w = torch.randn(20)
    model = nn.Sequential(nn.Linear(20, 40), nn.ReLU(), nn.Linear(40, 1))
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    step = 0
    if os.path.exists(a.state):
        s = torch.load(a.state)
        model.load_state_dict(s["model"])
        opt.load_state_dict(s["opt"])
        step = s["step"]
        print(f"resumed at step {step}")
    torch.manual_seed(1000 + step)
    while step < a.steps:
        x = torch.randn(32, 20)
        loss = nn.functional.mse_loss(model(x).squeeze(1), (x @ w).sin())
        opt.zero_grad()
        loss.backward()
        opt.step()
        step += 1
        time.sleep(0.12)
        if step % 10 == 0:
            print(f"step {step}/{a.steps} loss {loss.item():.4f}")
        if stop:
            save(a.state, model=model.state_dict(), opt=opt.state_dict(), step=step)
            print(f"state saved at step {step}, leaving")
            sys.exit(0)
    save(a.state, model=model.state_dict(), opt=opt.state_dict(), step=step)
    print("training complete")


if __name__ == "__main__":
    main()
