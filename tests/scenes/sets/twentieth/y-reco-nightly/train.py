import argparse
import logging
import os
import time

import numpy as np
import torch
import torch.nn as nn

from interactions import DIM, ITEMS, USERS, ratings

logging.basicConfig(level=logging.INFO, format="%(asctime)s | %(levelname)s | %(message)s", datefmt="%H:%M:%S")
ap = argparse.ArgumentParser()
ap.add_argument("--out")
out = ap.parse_args().out
torch.manual_seed(0)
torch.set_num_threads(1)
u, v = nn.Embedding(USERS, DIM), nn.Embedding(ITEMS, DIM)
opt = torch.optim.Adam([*u.parameters(), *v.parameters()], lr=0.03)
g = torch.Generator().manual_seed(3)
for step in range(1, 221):
    a, b, r = ratings(512, g)
    loss = ((u(a) * v(b)).sum(1) - r).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.15)
    if step % 10 == 0:
        logging.info("step %d/220 mse %.4f", step, loss.item())
os.makedirs("models", exist_ok=True)
np.savez(out, u=u.weight.detach().numpy(), v=v.weight.detach().numpy())
logging.info("wrote %s", out)
