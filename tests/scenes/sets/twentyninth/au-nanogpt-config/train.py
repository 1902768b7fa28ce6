"""nanoGPT-like training on characters; python train.py [config.py] [--key=value ...]"""
import math
import os
import sys
import time

import torch

from corpus import text
from model import GPT, GPTConfig

out_dir = "out"
eval_interval, eval_iters, log_interval = 100, 12, 1
batch_size, block_size, max_iters = 6, 96, 400
n_layer, n_head, n_embd, dropout = 3, 4, 96, 0.0
learning_rate, min_lr, warmup_iters, beta2, weight_decay, grad_clip = 1e-3, 1e-4, 40, 0.99, 0.1, 1.0
pace = float(os.environ.get("PACE", 0.3))
for arg in sys.argv[1:]:
    if arg.startswith("--"):
        k, v = arg[2:].split("=")
        print(f"Overriding: {k} = {v}")
        globals()[k] = type(globals()[k])(float(v)) if not isinstance(globals()[k], str) else v
    else:
        print(f"Overriding config with {arg}:")
        src = open(arg).read()
        print(src)
        exec(src)

torch.set_num_threads(1)
torch.manual_seed(1337)
data = text(500_000, 7)
chars = sorted(set(data))
stoi = {c: i for i, c in enumerate(chars)}
ids = torch.tensor([stoi[c] for c in data])
cut = int(0.9 * len(ids))
parts = {"train": ids[:cut], "val": ids[cut:]}
os.makedirs(out_dir, exist_ok=True)


def get_batch(split):
    d = parts[split]
    i = torch.randint(len(d) - block_size - 1, (batch_size,))
    return torch.stack([d[k: k + block_size] for k in i]), torch.stack([d[k + 1: k + block_size + 1] for k in i])


def get_lr(it):
    if it < warmup_iters:
        return learning_rate * (it + 1) / (warmup_iters + 1)
    r = (it - warmup_iters) / max(1, max_iters - warmup_iters)
    return min_lr + 0.5 * (1 + math.cos(math.pi * min(1, r))) * (learning_rate - min_lr)


@torch.no_grad()
def estimate_loss():
    model.eval()
    out = {}
    for s in parts:
        out[s] = sum(model(*get_batch(s))[1].item() for _ in range(eval_iters)) / eval_iters
        time.sleep(3 * pace)
    model.train()
    return out


model = GPT(GPTConfig(block_size, len(chars), n_layer, n_head, n_embd, dropout))
print(f"vocab size {len(chars)}, number of parameters: {sum(p.numel() for p in model.parameters()) / 1e6:.2f}M", flush=True)
opt = torch.optim.AdamW(model.parameters(), lr=learning_rate, betas=(0.9, beta2), weight_decay=weight_decay)
t0, best = time.time(), 1e9
for it in range(max_iters + 1):
    lr = get_lr(it)
    for g in opt.param_groups:
        g["lr"] = lr
    if it % eval_interval == 0:
        l = estimate_loss()
        print(f"step {it}: train loss {l['train']:.4f}, val loss {l['val']:.4f}", flush=True)
        if l["val"] < best and it > 0:
            best = l["val"]
            print(f"saving checkpoint to {out_dir}", flush=True)
            torch.save({"model": model.state_dict(), "optimizer": opt.state_dict(), "iter_num": it, "best_val_loss": best}, f"{out_dir}/ckpt.pt")
        t0 = time.time()
    _, loss = model(*get_batch("train"))
    opt.zero_grad(set_to_none=True)
    loss.backward()
    if grad_clip:
        torch.nn.utils.clip_grad_norm_(model.parameters(), grad_clip)
    opt.step()
    time.sleep(pace)
    dt, t0 = time.time() - t0, time.time()
    if it % log_interval == 0:
        print(f"iter {it}: loss {loss.item():.4f}, time {dt * 1000:.2f}ms, mfu {6 * 0.35e6 * batch_size * block_size / dt / 5e10 * 100:.2f}%", flush=True)
model.eval()
print("sample:\n" + "".join(chars[i] for i in model.generate(ids[None, :1], 200)[0].tolist()), flush=True)
