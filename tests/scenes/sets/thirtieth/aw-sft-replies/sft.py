"""Supervised fine-tuning of a small causal LM on customer-service replies (HF Trainer)."""
import os
import random
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments, set_seed

PACE = float(os.environ.get("PACE", "0.3"))
set_seed(13)
torch.set_num_threads(1)

opening = ["Hi {n},", "Hello {n},", "Dear {n},", "Good morning {n},"]
body = ["your parcel {k} left our warehouse on {d}.", "we refunded order {k} on {d}.", "invoice {k} is due on {d}.",
        "the replacement for {k} ships on {d}.", "we could not find order {k}, please check the number."]
close = ["Kind regards, the shop team", "Best, Maria from support", "Thanks for your patience!"]
names = ["Ana", "Tom", "Lin", "Omar", "Judith", "Piet", "Sara", "Ken"]
days = ["Monday", "Tuesday", "Friday", "3 May", "12 June", "next week"]
SEQ = 96


class Replies(torch.utils.data.Dataset):
    def __init__(self, n, seed):
        r = random.Random(seed)
        self.rows = []
        for _ in range(n):
            t = " ".join([r.choice(opening), r.choice(body), r.choice(close)])
            t = t.format(n=r.choice(names), k=f"#{r.randint(10000, 99999)}", d=r.choice(days))
            ids = list(t.encode())[:SEQ] + [0] * max(0, SEQ - len(t))
            x = torch.tensor(ids)
            self.rows.append({"input_ids": x, "labels": torch.where(x == 0, -100, x)})

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


class Slow(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(PACE)


model = GPT2LMHeadModel(GPT2Config(vocab_size=256, n_positions=SEQ, n_embd=144, n_layer=4, n_head=4))
print(f"{model.num_parameters() / 1e6:.2f} M parameters", flush=True)
args = TrainingArguments(
    output_dir="out", per_device_train_batch_size=8, num_train_epochs=4, learning_rate=1e-3, warmup_steps=20,
    logging_steps=2, save_steps=16, report_to=[], use_cpu=True, dataloader_num_workers=0,
)
Trainer(model=model, args=args, train_dataset=Replies(1200, 0), callbacks=[Slow()]).train()
