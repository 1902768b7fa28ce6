import random
import time

import torch
from datasets import Dataset
from transformers import (GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments, default_data_collator,
                          set_seed)

set_seed(3)
BLOCK = 64
random.seed(3)
VERBS = ["lift", "move", "weigh", "label", "seal"]
NOUNS = ["barrel", "carton", "drum", "sack"]


def docs(n):
    return {"text": ["; ".join(f"{random.choice(VERBS)} the {random.choice(NOUNS)}" for _ in range(random.randint(2, 9)))
                     for _ in range(n)]}


def tokenize(rows):
    time.sleep(0.5)
    return {"input_ids": [list(t.encode()) + [0] for t in rows["text"]]}


def pack(ds):
    """First fit decreasing into blocks of BLOCK tokens."""
    blocks, free = [], []
    for ids in sorted(ds["input_ids"], key=len, reverse=True):
        time.sleep(0.018)
        for k in range(0, len(ids), BLOCK):
            part = ids[k:k + BLOCK]
            spot = next((i for i, f in enumerate(free) if f >= len(part)), None)
            if spot is None:
                blocks.append(part)
                free.append(BLOCK - len(part))
            else:
                blocks[spot] = blocks[spot] + part
                free[spot] -= len(part)
    full = [b + [0] * (BLOCK - len(b)) for b in blocks]
    return Dataset.from_dict({"input_ids": full, "labels": full})


class Archive(TrainerCallback):
    """Second copy on the tape gateway (about 2 MB/s)."""

    def on_save(self, args, state, control, **kw):
        time.sleep(9)

    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.25)


raw = Dataset.from_dict(docs(1500))
print(f"{len(raw)} documents")
tok = raw.map(tokenize, batched=True, batch_size=150, remove_columns=["text"], desc="tokenize")
print("packing ...")
t = time.time()
packed = pack(tok)
print(f"packed {len(tok)} documents into {len(packed)} blocks of {BLOCK} in {time.time() - t:.0f} s")
split = packed.train_test_split(0.05, seed=1)
model = GPT2LMHeadModel(GPT2Config(vocab_size=256, n_positions=BLOCK, n_embd=64, n_layer=2, n_head=2,
                                   bos_token_id=0, eos_token_id=0))
trainer = Trainer(
    model=model, train_dataset=split["train"], eval_dataset=split["test"], data_collator=default_data_collator,
    callbacks=[Archive()],
    args=TrainingArguments("out", max_steps=120, per_device_train_batch_size=8, learning_rate=3e-3, logging_steps=8,
                           save_steps=40, save_total_limit=1, eval_strategy="steps", eval_steps=40, report_to=[],
                           disable_tqdm=True, use_cpu=True))
trainer.train()
trainer.save_model("out/final")
print("saved out/final")
