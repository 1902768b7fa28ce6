"""Headline generation, half precision with a dynamic loss scale."""
import logging
import os
import random
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

logging.basicConfig(format="%(asctime)s %(levelname)-7s %(message)s", datefmt="%H:%M:%S", level=logging.INFO)
torch.manual_seed(0)
V, SEQ, STEPS = 120, 40, 300


class Net(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.e = nn.Embedding(V, d)
        layer = nn.TransformerEncoderLayer(d, 4, 128, dropout=0.0, batch_first=True, norm_first=True)
        self.t = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.o = nn.Linear(d, V)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(SEQ - 1))

    def forward(self, x):
        return self.o(self.t(self.e(x), mask=self.mask))


def batch(rng):
    rows = []
    for _ in range(8):
        t, row = rng.randrange(V), []
        for _ in range(SEQ):
            row.append(t)
            t = (3 * t + rng.choice((1, 7))) % V
        rows.append(row)
    return torch.tensor(rows)


net = Net()
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**24, growth_interval=40)
rng = random.Random(4)
os.makedirs("weights", exist_ok=True)
skipped = 0
for step in range(1, STEPS + 1):
    x = batch(rng)
    with torch.autocast("cpu", dtype=torch.float16):
        logits = net(x[:, :-1])
    loss = F.cross_entropy(logits.float().reshape(-1, V), x[:, 1:].reshape(-1))
    opt.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    before = scaler.get_scale()
    scaler.step(opt)
    scaler.update()
    time.sleep(0.3)
    if scaler.get_scale() < before:
        skipped += 1
        logging.warning("step %d: OVERFLOW, gradient norm %s, skipping this step, loss scale %g -> %g", step, norm.item(), before, scaler.get_scale())
    elif step % 6 == 0:
        logging.info("step %d loss %.4f gnorm %.3f scale %g", step, loss.item(), norm.item(), scaler.get_scale())
    if step % 75 == 0:
        torch.save(net.state_dict(), "weights/latest.pt")
        logging.info("weights saved")
logging.info("finished, %d of %d steps skipped by the scaler", skipped, STEPS)
