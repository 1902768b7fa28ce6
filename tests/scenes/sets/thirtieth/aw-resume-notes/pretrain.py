"""Clinical-notes style LM (template text, byte level) with accelerate. --resume goes on from the newest checkpoint."""
import argparse
import json
import math
import os
import pathlib
import random
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.logging import get_logger
from accelerate.utils import ProjectConfiguration, set_seed

import logging

ap = argparse.ArgumentParser()
ap.add_argument("--until", type=int, default=650)
ap.add_argument("--pace", type=float, default=float(os.environ.get("PACE", "0.36")))
ap.add_argument("--resume", action="store_true")
args = ap.parse_args()
logging.basicConfig(level=logging.INFO, format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", datefmt="%m/%d/%Y %H:%M:%S")
logger = get_logger("pretrain")
torch.set_num_threads(1)
set_seed(6)
acc = Accelerator(cpu=True, project_config=ProjectConfiguration(project_dir="run", automatic_checkpoint_naming=True, total_limit=2))

r = random.Random(0)
sent = ["Patient {n} reports {s} since {d} days.", "No {s}. Blood pressure {d}0/{d}.", "Plan: {m} {d} mg daily, return if {s}.",
        "Allergies: {m}.", "Seen by Dr {n}; {s} improved on {m}."]
fill = {"n": ["Kaya", "Lopez", "Novak", "Meier"], "s": ["chest pain", "cough", "fever", "headache", "fatigue"], "m": ["ibuprofen", "ramipril", "metformin"]}
text = "\n".join(r.choice(sent).format(d=r.randint(2, 9), **{k: r.choice(v) for k, v in fill.items()}) for _ in range(6000)).encode()
data = torch.tensor(list(text))
T = 64


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.rnn, self.o = nn.Embedding(128, 48), nn.LSTM(48, 128, batch_first=True), nn.Linear(128, 128)

    def forward(self, x):
        return self.o(self.rnn(self.e(x))[0])


net = LM()
opt = torch.optim.AdamW(net.parameters(), 2e-3)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1, (s + 1) / 50) * max(0.05, 0.5 + 0.5 * math.cos(math.pi * s / 650)))
net, opt, sched = acc.prepare(net, opt, sched)
start = 0
if args.resume:
    newest = max(pathlib.Path("run/checkpoints").iterdir(), key=lambda p: int(p.name.split("_")[1]))
    logger.info(f"Resumed from checkpoint: {newest}")
    acc.load_state(str(newest))
    start = json.loads(pathlib.Path("run/progress.json").read_text())["step"]
    acc.project_configuration.iteration = int(newest.name.split("_")[1]) + 1
g = torch.Generator().manual_seed(77)
if start:
    logger.info(f"skipping the {start} batches already seen")
    for _ in range(start):
        torch.randint(len(data) - T - 1, (16,), generator=g)
hist = open("metrics.jsonl", "a", buffering=1)
for step in range(start + 1, args.until + 1):
    i = torch.randint(len(data) - T - 1, (16,), generator=g)
    s = torch.stack([data[j:j + T + 1] for j in i])
    loss = F.cross_entropy(net(s[:, :-1]).flatten(0, 1), s[:, 1:].flatten())
    acc.backward(loss)
    gn = acc.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    sched.step()
    opt.zero_grad()
    time.sleep(args.pace)
    hist.write(json.dumps({"step": step, "loss": round(loss.item(), 5), "grad_norm": round(float(gn), 4), "lr": sched.get_last_lr()[0], "time": round(time.time(), 2)}) + "\n")
    if step % 20 == 0:
        logger.info(f"step {step}/{args.until}: loss {loss.item():.4f}")
    if step % 150 == 0:
        acc.save_state()
        pathlib.Path("run/progress.json").write_text(json.dumps({"step": step}))
logger.info("training finished")
