"""Adapt a small causal LM to a new domain with LoRA (hand-written loop)."""
import csv
import math
import os
import time
from dataclasses import dataclass

import torch
from peft import LoraConfig, get_peft_model
from rich.console import Console
from rich.table import Table
from transformers import GPT2Config, GPT2LMHeadModel

out = Console(width=110, force_terminal=False)


@dataclass
class HP:
    base_steps: int = 150
    steps: int = 420
    batch: int = 8
    seq: int = 32
    lr: float = 3e-4
    rank: int = 8
    every: int = 20


def batch(hp, gen, low, high, stride):
    start = torch.randint(low, high, (hp.batch, 1), generator=gen)
    noise = (torch.rand(hp.batch, hp.seq, generator=gen) < 0.05).long()
    return (start + stride * torch.arange(hp.seq) + noise) % 128


def base_model(hp):
    """The 'pretrained' base: knows sequences with stride 1."""
    m = GPT2LMHeadModel(GPT2Config(vocab_size=128, n_positions=64, n_embd=64, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0))
    opt, gen = torch.optim.AdamW(m.parameters(), lr=3e-3), torch.Generator().manual_seed(1)
    for _ in range(hp.base_steps):
        x = batch(hp, gen, 0, 128, 1)
        loss = m(input_ids=x, labels=x).loss
        loss.backward()
        opt.step()
        opt.zero_grad()
    out.print(f"base model ready, loss on its own domain {loss.item():.3f}")
    return m


def optimizer_for(model, hp):
    decay = [p for p in model.parameters() if p.requires_grad and p.dim() > 1]
    rest = [p for p in model.parameters() if p.requires_grad and p.dim() <= 1]
    return torch.optim.AdamW([{"params": decay, "weight_decay": 0.01}, {"params": rest, "weight_decay": 0.0}], lr=hp.lr)


def main():
    hp = HP()
    torch.manual_seed(0)
    model = base_model(hp)
    opt = optimizer_for(model, hp)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 20) * 0.5 * (1 + math.cos(math.pi * s / hp.steps)))
    model = get_peft_model(model, LoraConfig(r=hp.rank, lora_alpha=16, target_modules=["c_attn"], fan_in_fan_out=True,
                                             task_type="CAUSAL_LM"))
    n, total = model.get_nb_trainable_parameters()
    t = Table("setting", "value", title="LoRA")
    for k, v in {**vars(hp), "trainable": f"{n:,} of {total:,}"}.items():
        t.add_row(k, str(v))
    out.print(t)
    os.makedirs("out", exist_ok=True)
    table = csv.writer(open("out/metrics.csv", "w", buffering=1))
    table.writerow(["step", "loss", "ppl", "lr"])
    gen, mean = torch.Generator().manual_seed(2), 0.0
    model.train()
    for step in range(1, hp.steps + 1):
        x = batch(hp, gen, 0, 128, 3)
        loss = model(input_ids=x, labels=x).loss
        loss.backward()
        opt.step()
        sched.step()
        opt.zero_grad()
        mean += loss.item() / hp.every
        time.sleep(0.12)
        if step % hp.every == 0:
            lr = sched.get_last_lr()[0]
            out.print(f"step {step:>4}/{hp.steps}  loss {mean:.4f}  ppl {math.exp(min(mean, 20)):.1f}  lr {lr:.2e}")
            table.writerow([step, f"{mean:.5f}", f"{math.exp(min(mean, 20)):.2f}", f"{lr:.3e}"])
            mean = 0.0
    model.save_pretrained("out/adapter")
    out.print("[bold]adapter saved to out/adapter[/bold]")


main()
