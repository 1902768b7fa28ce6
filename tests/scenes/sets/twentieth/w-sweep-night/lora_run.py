import csv
import random
import sys
import time
from pathlib import Path

import torch
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

rank, lr, steps = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
out = Path(f"results/r{rank}_lr{lr:g}")
out.mkdir(parents=True, exist_ok=True)
torch.set_num_threads(1)
torch.manual_seed(7)
random.seed(7)
LINES = ["the quick brown fox jumps over the lazy dog ", "pack my box with five dozen liquor jugs ",
         "how vexingly quick daft zebras jump ", "sphinx of black quartz judge my vow "]
CHARS = sorted(set("".join(LINES)))


def batch(n=8, width=48):
    rows = [("".join(random.choices(LINES, k=3)))[:width] for _ in range(n)]
    return torch.tensor([[CHARS.index(c) for c in r] for r in rows])


base = GPT2LMHeadModel(GPT2Config(vocab_size=len(CHARS), n_positions=64, n_embd=48, n_layer=2, n_head=2,
                                  bos_token_id=0, eos_token_id=0))
model = get_peft_model(base, LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=["c_attn", "c_fc"], fan_in_fan_out=True,
                                        modules_to_save=["lm_head"], task_type="CAUSAL_LM"))
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=lr)
print(f"rank={rank} lr={lr:g} trainable={sum(p.numel() for p in model.parameters() if p.requires_grad)}", flush=True)
with open(out / "loss.csv", "w", newline="") as f:
    table = csv.writer(f)
    table.writerow(["step", "loss"])
    for step in range(1, steps + 1):
        ids = batch()
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        opt.step()
        opt.zero_grad()
        time.sleep(0.12)
        if step % 10 == 0:
            table.writerow([step, round(loss.item(), 4)])
            f.flush()
            print(f"  [{step:>3}/{steps}] loss={loss.item():.3f}", flush=True)
model.save_pretrained(out / "adapter")
print(f"  -> {out}/adapter", flush=True)
