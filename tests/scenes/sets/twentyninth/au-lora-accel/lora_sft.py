"""Instruction tuning with adapters written by hand, Accelerate, gradient accumulation."""
import json
import os
import random
import shutil
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from safetensors.torch import load_file, save_file
from torch.utils.data import DataLoader
from transformers import GPT2Config, GPT2LMHeadModel, get_linear_schedule_with_warmup
from transformers.pytorch_utils import Conv1D

PACE = float(os.environ.get("PACE", 0.12))
random.seed(4)
torch.manual_seed(4)
acc = Accelerator(cpu=True, gradient_accumulation_steps=4)
model = GPT2LMHeadModel(GPT2Config(vocab_size=2048, n_positions=16384, n_embd=160, n_layer=3, n_head=4, initializer_range=0.1, bos_token_id=0, eos_token_id=0))
model.load_state_dict(load_file("models/base/model.safetensors"), strict=False)
model.tie_weights()


class LoRA(nn.Module):
    def __init__(self, base, r=8, alpha=16):
        super().__init__()
        self.base, self.scale = base, alpha / r
        self.a = nn.Parameter(torch.randn(base.weight.shape[0], r) * 0.02)
        self.b = nn.Parameter(torch.zeros(r, base.weight.shape[1]))

    def forward(self, x):
        return self.base(x) + (x @ self.a @ self.b) * self.scale


for p in model.parameters():
    p.requires_grad_(False)
for m in list(model.modules()):
    for n, c in list(m.named_children()):
        if isinstance(c, Conv1D):
            setattr(m, n, LoRA(c))
for n, p in model.named_parameters():
    if "ln_" in n:
        p.requires_grad_(True)
head_bias = nn.Parameter(torch.zeros(2048))
model.register_parameter("head_bias", head_bias)
n_train = sum(p.numel() for p in model.parameters() if p.requires_grad)
n_all = sum(p.numel() for p in model.parameters())
acc.print(f"trainable params: {n_train:,} || all params: {n_all:,} || trainable%: {100 * n_train / n_all:.4f}")

ANIMAL = "cat dog horse sheep goose crow otter hare".split()
VERB = {"chase": "chases", "see": "sees", "feed": "feeds", "follow": "follows"}
vocab = {}


def tok(s):
    return [vocab.setdefault(w, len(vocab) + 1) for w in s.split()]


def row():
    a, b, v = random.choice(ANIMAL), random.choice(ANIMAL), random.choice(list(VERB))
    q = random.random()
    if q < 0.5:
        p, t = f"Make a sentence : {a} {v} {b}", f"The {a} {VERB[v]} the {b} ."
    elif q < 0.8:
        p, t = f"Who does it ? The {a} {VERB[v]} the {b} .", f"It is the {a} ."
    else:
        p, t = f"Repeat twice : {a}", f"{a} {a}"
    p, t = tok("<s> " + p + " ->"), tok(t + " </s>")
    return p + t, [-100] * len(p) + t


def collate(rows):
    n = max(len(i) for i, _ in rows)
    return (torch.tensor([i + [0] * (n - len(i)) for i, _ in rows]), torch.tensor([t + [-100] * (n - len(t)) for _, t in rows]))


rows = [row() for _ in range(2600)]
data = DataLoader(rows, batch_size=2, shuffle=True, collate_fn=collate)
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=3e-3)
sched = get_linear_schedule_with_warmup(opt, 15, 220)
model, opt, data, sched = acc.prepare(model, opt, data, sched)
kept, step, t0, sums = [], 0, time.time(), []
for ids, labels in data:
    with acc.accumulate(model):
        h = model(input_ids=ids)
        logits = h.logits + head_bias
        loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=-100)
        keep = labels[:, 1:] != -100
        sums.append((loss.item(), (logits[:, :-1].argmax(-1) == labels[:, 1:])[keep].float().mean().item()))
        acc.backward(loss)
        if acc.sync_gradients:
            norm = acc.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        opt.zero_grad()
    time.sleep(PACE)
    if acc.sync_gradients:
        step += 1
        line = {"loss": round(sum(a for a, _ in sums) / len(sums), 4), "grad_norm": round(float(norm), 4), "learning_rate": sched.get_last_lr()[0],
                "mean_token_accuracy": round(sum(b for _, b in sums) / len(sums), 4), "epoch": round(step * 8 / len(rows), 3)}
        sums = []
        acc.print(line, flush=True)
        if step % 60 == 0:
            d = f"models/adapters/checkpoint-{step}"
            os.makedirs(d)
            save_file({n: p.detach().contiguous() for n, p in model.named_parameters() if p.requires_grad}, d + "/adapter_model.safetensors")
            json.dump({"r": 8, "lora_alpha": 16}, open(d + "/adapter_config.json", "w"))
            kept.append(d)
            while len(kept) > 2:
                shutil.rmtree(kept.pop(0))
            acc.print(f"Saving adapter to {d} (kept: {len(kept)})", flush=True)
        if step == 220:
            break
acc.print(f"train_runtime: {time.time() - t0:.1f} s, train_steps: {step}", flush=True)
