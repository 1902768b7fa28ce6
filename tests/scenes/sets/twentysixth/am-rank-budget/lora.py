"""One LoRA fit of a given rank, as far as the time budget goes (INT ends it)."""
import argparse
import json
import time

import torch
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

p = argparse.ArgumentParser()
p.add_argument("--r", type=int, required=True)
a = p.parse_args()
torch.manual_seed(0)
torch.set_num_threads(1)
base = GPT2LMHeadModel(GPT2Config(vocab_size=90, n_positions=24, n_embd=64, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0))
net = get_peft_model(base, LoraConfig(r=a.r, lora_alpha=2 * a.r, target_modules=["c_attn", "c_proj", "c_fc"], modules_to_save=["wte"]))
opt = torch.optim.AdamW([q for q in net.parameters() if q.requires_grad], lr=3e-3)


def batch(n=12):
    s = torch.randint(0, 90, (n, 1)) + torch.randint(1, 5, (n, 1)) * torch.arange(20)
    return s % 90


step, best = 0, 9.9
f = open(f"rank{a.r}.jsonl", "a", buffering=1)
try:
    while True:
        step += 1
        x = batch()
        loss = net(input_ids=x, labels=x).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.2)
        best = min(best, loss.item())
        if step % 5 == 0:
            f.write(json.dumps({"rank": a.r, "step": step, "loss": round(loss.item(), 4), "t": round(time.time(), 1)}) + "\n")
        if step % 40 == 0:
            net.save_pretrained(f"adapters/rank{a.r}")
except KeyboardInterrupt:
    print(f"rank {a.r}: KeyboardInterrupt (time budget), {step} steps, saving the adapter", flush=True)
net.save_pretrained(f"adapters/rank{a.r}")
with torch.no_grad():
    x = batch(64)
    ev = net(input_ids=x, labels=x).loss.item()
f.write(json.dumps({"rank": a.r, "step": step, "eval_loss": round(ev, 4)}) + "\n")
print(f"rank {a.r}: eval loss {ev:.4f}", flush=True)
