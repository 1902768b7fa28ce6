"""LoRA adapters on a small Llama for intent classification."""
import json
import os
import time

import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForSequenceClassification

torch.set_num_threads(1)
torch.manual_seed(0)
open("pid", "w").write(str(os.getpid()))
cfg = LlamaConfig(vocab_size=300, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
                  num_key_value_heads=2, num_labels=5, pad_token_id=0)
model = get_peft_model(LlamaForSequenceClassification(cfg),
                       LoraConfig(task_type="SEQ_CLS", r=8, lora_alpha=16, target_modules=["q_proj", "v_proj"]))
model.print_trainable_parameters()
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=5e-3)
total, t0 = 1200, time.time()
for step in range(1, total + 1):
    y = torch.randint(0, 5, (8,))
    ids = torch.randint(1, 60, (8, 20)) + 40 * y[:, None]
    out = model(input_ids=ids, labels=y)
    opt.zero_grad()
    out.loss.backward()
    opt.step()
    time.sleep(0.2)
    if step % 10 == 0:
        acc = (out.logits.argmax(1) == y).float().mean().item()
        eta = (time.time() - t0) / step * (total - step)
        print(f"{step:5d}/{total} | loss {out.loss.item():.4f} | acc {acc:.2f} | eta {eta / 60:.1f} min", flush=True)
    if step % 75 == 0:
        model.save_pretrained("adapter")
        json.dump({"step": step}, open("adapter/step.json", "w"))
        print(f"adapter saved at step {step}", flush=True)
