"""What a project for nanoGPT relies on, in a program of our own: its settings, files, lines and order.

The settings are globals that configurator.py changes. It reads train.bin, val.bin and meta.pkl, evaluates
and saves every ``eval_interval`` steps before it trains that step, and draws the first batch after a save
was loaded. The model looks up the symbol before, and a matrix tells the next one.
"""

import math
import os
import pickle
import time
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F  # noqa: N812

out_dir = "out"
eval_interval = 2000
log_interval = 1
eval_iters = 200
always_save_checkpoint = True
init_from = "scratch"
wandb_log = True
dataset = "openwebtext"
gradient_accumulation_steps = 40
batch_size = 12
block_size = 1024
n_layer = n_head = 12
n_embd = 768
dropout = 0.0
learning_rate = 6e-4
max_iters = 600000
weight_decay = 1e-1
beta2 = 0.95
grad_clip = 1.0
warmup_iters = 2000
lr_decay_iters = 600000
min_lr = 6e-5
backend = "nccl"
device = "cuda"
dtype = "float16"
compile = True  # noqa: A001
keys = [k for k, v in globals().items() if k[0] != "_" and isinstance(v, (int, float, bool, str))]
exec(open("configurator.py").read())  # noqa: S102, SIM115  (as nanoGPT does)
config = {key: globals()[key] for key in keys}
if wandb_log or compile or device != "cpu" or dtype != "float32":
    raise SystemExit("the settings are none for a processor")

tokens_per_iter = gradient_accumulation_steps * batch_size * block_size
os.makedirs(out_dir, exist_ok=True)
torch.manual_seed(1337)
data_dir = os.path.join("data", dataset)  # noqa: PTH118  (an absolute path stays as it is)
with open(f"{data_dir}/meta.pkl", "rb") as file:
    symbols: int = pickle.load(file)["vocab_size"]


def get_batch(split: str) -> tuple[torch.Tensor, torch.Tensor]:
    data = np.memmap(f"{data_dir}/{split}.bin", dtype=np.uint16, mode="r")
    at = torch.randint(len(data) - block_size, (batch_size,)).tolist()
    rows = [torch.from_numpy(data[i : i + block_size + 1].astype(np.int64)) for i in at]
    both = torch.stack(rows)
    return both[:, :-1], both[:, 1:]


def loss_of(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten())


def estimate(split: str) -> float:
    with torch.no_grad():
        losses = [float(loss_of(*get_batch(split))) for _ in range(eval_iters)]
    return sum(losses) / eval_iters


def get_lr(step: int) -> float:
    if step < warmup_iters:
        return learning_rate * (step + 1) / (warmup_iters + 1)
    part = min(1.0, (step - warmup_iters) / (lr_decay_iters - warmup_iters))
    return min_lr + 0.5 * (1.0 + math.cos(math.pi * part)) * (learning_rate - min_lr)


iter_num = 0
best_val_loss: Any = 1e9
model = torch.nn.Sequential(torch.nn.Embedding(symbols, n_embd), torch.nn.Linear(n_embd, symbols))
optimizer = torch.optim.AdamW(model.parameters(), learning_rate, (0.9, beta2))
if init_from == "resume":
    print(f"Resuming training from {out_dir}")
    saved = torch.load(f"{out_dir}/ckpt.pt", map_location=device)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    iter_num, best_val_loss = saved["iter_num"], saved["best_val_loss"]
else:
    print("Initializing a new model from scratch")

X, Y = get_batch("train")
t0 = time.time()
while iter_num <= max_iters:
    lr = get_lr(iter_num)
    for group in optimizer.param_groups:
        group["lr"] = lr
    if iter_num % eval_interval == 0:
        train, val = estimate("train"), estimate("val")
        print(f"step {iter_num}: train loss {train:.4f}, val loss {val:.4f}")
        if iter_num > 0 and (always_save_checkpoint or val < best_val_loss):
            best_val_loss = val
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            state |= {"iter_num": iter_num, "best_val_loss": best_val_loss, "config": config}
            print(f"saving checkpoint to {out_dir}")
            torch.save(state, f"{out_dir}/ckpt.pt")
    for _ in range(gradient_accumulation_steps):
        loss = loss_of(X, Y) / gradient_accumulation_steps
        X, Y = get_batch("train")
        torch.autograd.backward(loss)
    torch.nn.utils.clip_grad_norm_(model.parameters(), grad_clip)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    t1 = time.time()
    dt = t1 - t0
    t0 = t1
    if iter_num % log_interval == 0:
        lossf = loss.item() * gradient_accumulation_steps
        print(f"iter {iter_num}: loss {lossf:.4f}, time {dt * 1000:.2f}ms, mfu -100.00%")
    iter_num += 1
