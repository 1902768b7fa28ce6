import argparse
import random
import time

import torch
from peft import LoraConfig, get_peft_model
from torch.utils.data import Dataset
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainerCallback, TrainingArguments, set_seed

p = argparse.ArgumentParser()
p.add_argument("--rank", type=int, default=8)
p.add_argument("--lr", type=float, default=2e-3)
p.add_argument("--max-steps", type=int, default=200)
p.add_argument("--out", default="runs/sft")
a = p.parse_args()
set_seed(17)

CITIES = ["Graz", "Lyon", "Turin", "Bergen", "Porto", "Gdansk"]
ITEMS = ["box", "crate", "pallet", "parcel"]


class Instructions(Dataset):
    """Byte level, prompt masked."""

    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.rows = []
        for _ in range(n):
            k, item, city = rng.randint(2, 9), rng.choice(ITEMS), rng.choice(CITIES)
            q = f"### Ship {k} {item} to {city}\n### Answer: "
            self.rows.append((q.encode(), f"ok {city} {item} x{k}\n".encode()))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        q, r = self.rows[i]
        ids = (list(q) + list(r))[:72]
        labels = ([-100] * len(q) + list(r))[:72]
        pad = 72 - len(ids)
        return {
            "input_ids": torch.tensor(ids + [0] * pad),
            "labels": torch.tensor(labels + [-100] * pad),
            "attention_mask": torch.tensor([1] * len(ids) + [0] * pad),
        }


class Pace(TrainerCallback):
    def on_step_begin(self, args, state, control, **kw):
        time.sleep(0.15)


model = LlamaForCausalLM(LlamaConfig(
    vocab_size=256, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
    max_position_embeddings=128, bos_token_id=1, eos_token_id=10, pad_token_id=0))
model = get_peft_model(model, LoraConfig(
    r=a.rank, lora_alpha=16, lora_dropout=0.05, target_modules=["q_proj", "v_proj", "up_proj", "down_proj"],
    modules_to_save=["lm_head", "embed_tokens"], task_type="CAUSAL_LM"))
model.print_trainable_parameters()

args = TrainingArguments(
    output_dir=a.out, max_steps=a.max_steps, per_device_train_batch_size=8, learning_rate=a.lr,
    lr_scheduler_type="cosine", warmup_steps=10, logging_steps=10, eval_strategy="steps", eval_steps=60,
    save_steps=60, save_total_limit=2, report_to=[], use_cpu=True, dataloader_num_workers=0)
trainer = Trainer(model=model, args=args, train_dataset=Instructions(3000, 1), eval_dataset=Instructions(96, 2),
                  callbacks=[Pace()])
result = trainer.train()
trainer.log_metrics("train", result.metrics)
trainer.log_metrics("eval", trainer.evaluate())
model.save_pretrained(f"{a.out}/adapter")
model.eval()
for q in ("### Ship 3 crate to Lyon\n### Answer: ", "### Ship 7 box to Graz\n### Answer: "):
    ids = torch.tensor([list(q.encode())])
    with torch.no_grad():
        gen = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=18, do_sample=False)
    print(repr(bytes(gen[0].tolist()).decode("latin1")))
print(f"adapter saved to {a.out}/adapter")
