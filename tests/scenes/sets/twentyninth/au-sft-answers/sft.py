"""Supervised fine tuning written out: one conversation per micro batch, loss on the answer only."""
import json
import math
import os
import time

import torch
import torch.nn.functional as F
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
torch.set_num_threads(1)
PACE = float(os.environ.get("PACE", 0.1))
MAX_LEN, ACCUM, LR, WARMUP = 160, 4, 1e-3, 20

rows = [json.loads(line) for line in open("data/sft.jsonl")]


def encode(row):
    p = list(f"<user> {row['prompt']}\n<assistant> ".encode())
    a = list(row["answer"].encode()) + [0]
    ids = (p + a)[:MAX_LEN]
    labels = ([-100] * len(p) + a)[:MAX_LEN]
    return torch.tensor([ids]), torch.tensor([labels])


model = LlamaForCausalLM(LlamaConfig(vocab_size=256, hidden_size=96, intermediate_size=192, num_hidden_layers=2,
                                     num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=256))
opt = torch.optim.AdamW(model.parameters(), lr=LR, weight_decay=0.01)
total = len(rows) // ACCUM
print(f"sft: {len(rows)} records, {total} optimizer steps, {sum(p.numel() for p in model.parameters()) / 1e6:.2f}M parameters", flush=True)

seen = 0
for step in range(1, total + 1):
    lr = LR * min(1, step / WARMUP) * (0.55 + 0.45 * math.cos(math.pi * step / total))
    for g in opt.param_groups:
        g["lr"] = lr
    run = 0.0
    for row in rows[(step - 1) * ACCUM: step * ACCUM]:
        ids, labels = encode(row)
        logits = model(input_ids=ids).logits
        mask = labels[:, 1:] != -100
        token_loss = F.cross_entropy(logits[:, :-1].transpose(1, 2).float(), labels[:, 1:].clamp(min=0), reduction="none")
        loss = (token_loss * mask).sum() / mask.sum()
        (loss / ACCUM).backward()
        run += loss.item() / ACCUM
        seen += ids.numel()
        time.sleep(PACE)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    opt.zero_grad(set_to_none=True)
    print(f"[{time.strftime('%H:%M:%S')}] step {step}/{total} | loss {run:.4f} | grad_norm {norm:.3f} | lr {lr:.2e} | tokens {seen}", flush=True)
    if step % 100 == 0:
        torch.save({"model": model.state_dict(), "step": step}, "sft_last.pt")
        print(f"saved sft_last.pt at step {step}", flush=True)
print("done", flush=True)
