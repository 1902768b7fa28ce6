import argparse
import json
import time
import urllib.request

import torch
from torch import nn


def fetch(server, step):
    with urllib.request.urlopen(f"http://{server}/batch/{step}", timeout=120) as r:
        return torch.tensor(json.load(r))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--server", required=True)
    p.add_argument("--steps", type=int, default=1000)
    a = p.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(6)
    model = nn.Sequential(nn.Linear(12, 32), nn.Tanh(), nn.Linear(32, 1))
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    print(f"ranker: features from {a.server}, {a.steps} steps")
    last = time.time()
    for step in range(1, a.steps + 1):
        x = fetch(a.server, step)
        y = (x[:, 0] - 0.5 * x[:, 3]).sigmoid()
        loss = nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(1), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.1)
        if step % 5 == 0:
            now = time.time()
            print(f"step {step:5d} | loss {loss.item():.4f} | {5 / (now - last):.2f} steps/s")
            last = now
    torch.save(model.state_dict(), "ranker.pt")


if __name__ == "__main__":
    main()
