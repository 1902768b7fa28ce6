"""nanoGPT-like loop with Accelerate; goes on from state/ if there is one."""
import json
import logging
import os
import sys
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(levelname)-7s %(message)s")
log = logging.getLogger()
torch.set_num_threads(1)
torch.manual_seed(9)
PAUSE = float(os.environ.get("PAUSE", 0.45))
SKIP = float(os.environ.get("SKIP", 0.012))
STEPS, PER_PART = 420, 1120


class Parts(Dataset):
    """Four files of 1120 sequences; a read of the cold volume takes its time."""

    def __len__(self):
        return 4 * PER_PART

    def __getitem__(self, i):
        part = np.memmap(f"data/part_{i // PER_PART}.bin", np.uint16, "r").reshape(-1, 33)
        time.sleep(SKIP)
        return torch.from_numpy(part[i % PER_PART].astype(np.int64))


class GPT(nn.Module):
    def __init__(self, v=80, d=64):
        super().__init__()
        self.tok, self.pos = nn.Embedding(v, d), nn.Embedding(32, d)
        layer = nn.TransformerEncoderLayer(d, 4, 4 * d, 0.0, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(d, v)

    def forward(self, x):
        m = nn.Transformer.generate_square_subsequent_mask(x.size(1))
        return self.head(self.body(self.tok(x) + self.pos.weight[: x.size(1)], mask=m))


acc = Accelerator(cpu=True)
net, data = GPT(), DataLoader(Parts(), batch_size=8)
opt = torch.optim.AdamW(net.parameters(), lr=8e-4)
net, opt, data = acc.prepare(net, opt, data)
step = start = 0
if os.path.exists("state/at.json"):
    acc.load_state("state")
    start = json.load(open("state/at.json"))["step"]
    log.info("resumed from state/ at iter %d, reading past the first %d batches of the stream", start, start)
else:
    log.info("starting from scratch, %d iters", STEPS)
for batch in data:
    step += 1
    if step <= start:
        continue
    loss = F.cross_entropy(net(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
    opt.zero_grad()
    acc.backward(loss)
    acc.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    time.sleep(PAUSE)
    log.info("iter %d: loss %.4f, lr %.1e", step, loss.item(), opt.param_groups[0]["lr"])
    if step % 50 == 0:
        acc.save_state("state")
        json.dump({"step": step}, open("state/at.json", "w"))
        log.info("saved state/ at iter %d", step)
    if step == STEPS:
        break
acc.save_model(net, "final")
log.info("done, %d iters", step)
