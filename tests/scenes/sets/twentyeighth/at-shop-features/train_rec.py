"""Two towers, users and items, over the log of purchases in the order in which they happened."""
import os
import pathlib
import time

import numpy as np
import requests
import torch
import torch.nn as nn
import torch.nn.functional as F
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

PAUSE = float(os.environ.get("PAUSE", "0.4"))
torch.set_num_threads(1)
torch.manual_seed(5)
rng = np.random.default_rng(5)
while not pathlib.Path("port").exists():
    time.sleep(0.2)
base = f"http://127.0.0.1:{pathlib.Path('port').read_text()}"
http = requests.Session()
http.mount("http://", HTTPAdapter(max_retries=Retry(total=3, backoff_factor=0.5)))


def features(ids):
    return torch.tensor(http.get(f"{base}/items", params={"ids": ",".join(map(str, ids))}).json())


USERS, B, STEPS = 60, 32, 600
taste = np.random.default_rng(9).normal(0, 1, (USERS, 8))
known = np.random.default_rng(0).normal(0, 1, (3000, 8)).round(3)


def purchases(step):
    """The shop takes new goods on the list from time to time; they sell from the first day."""
    users = rng.integers(0, USERS, B)
    choice = rng.integers(0, 3000, (B, 30))
    items = choice[np.arange(B), (known[choice] * taste[users][:, None]).sum(-1).argmax(1)]
    if step > 170:
        items[rng.random(B) < 0.2] = 3000 + step % 40
    return users, items


class Towers(nn.Module):
    def __init__(self):
        super().__init__()
        self.user = nn.Embedding(USERS, 16)
        self.item = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16))

    def forward(self, u, f):
        return self.user(u) @ self.item(f).T


net = Towers()
opt = torch.optim.Adam(net.parameters(), 2e-2)
mean = None
for step in range(1, STEPS + 1):
    users, items = purchases(step)
    f = features(items.tolist())
    score = net(torch.from_numpy(users), f)
    loss = F.cross_entropy(score, torch.arange(B))
    opt.zero_grad()
    loss.backward()
    opt.step()
    mean = loss.item() if mean is None else 0.95 * mean + 0.05 * loss.item()
    print(f"{time.strftime('%H:%M:%S')} step {step:04d}/{STEPS} loss {loss.item():.4f} (mean {mean:.4f})", flush=True)
    if step % 100 == 0:
        torch.save(net.state_dict(), "towers.pt")
        print("saved towers.pt", flush=True)
    time.sleep(PAUSE)
print("done", flush=True)
