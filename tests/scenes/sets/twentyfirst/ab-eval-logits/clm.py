"""Causal LM fine-tuning with the HF Trainer; token accuracy on the held-out set at each epoch's end."""
import random
import time

import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments, set_seed

VOCAB, SEQ = 12000, 64


class Blocks(torch.utils.data.Dataset):
    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.rows = []
        for _ in range(n):
            t = rng.randrange(500)
            ids = []
            for _ in range(SEQ):
                t = (t * 7 + rng.choice((1, 2, 5))) % 500
                ids.append(t)
            self.rows.append(ids)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return {"input_ids": self.rows[i], "labels": self.rows[i]}


class Pace(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.3)


def metrics(p):
    pred = p.predictions[:, :-1].argmax(-1)
    return {"token_accuracy": float((pred == p.label_ids[:, 1:]).mean())}


set_seed(0)
model = GPT2LMHeadModel(GPT2Config(vocab_size=VOCAB, n_embd=32, n_layer=2, n_head=2, n_positions=SEQ))
args = TrainingArguments(output_dir="out", use_cpu=True, per_device_train_batch_size=4, per_device_eval_batch_size=8, num_train_epochs=3, learning_rate=2e-3,
                         logging_steps=5, save_steps=40, save_total_limit=2, eval_strategy="epoch", report_to=[], dataloader_pin_memory=False)
trainer = Trainer(model=model, args=args, train_dataset=Blocks(400, 1), eval_dataset=Blocks(600, 2), compute_metrics=metrics, callbacks=[Pace()])
trainer.train()
trainer.save_model("out/final")
