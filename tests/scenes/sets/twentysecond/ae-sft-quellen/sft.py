"""Supervised fine-tuning of a small GPT-2 on dialogues from several sources; only the answers count in the loss."""
import random
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

torch.set_num_threads(1)
MAX_LEN, BATCH = 96, 4
WORDS = "the pump valve turn left right check oil press hold start stop slow fast red green light open close".split()


def dialogue(rng, source):
    n = {"faq": 6, "forum": 10, "manuals": 40}[source]
    prompt = f"[{source}] " + " ".join(rng.choice(WORDS) for _ in range(n)) + " ?"
    answer = " " + " ".join(sorted(set(prompt.split()[1:4]))) + " ."
    return prompt.encode(), answer.encode()


class Sources(torch.utils.data.IterableDataset):
    """The sources one after another, as they lie in the mixture file."""

    def __iter__(self):
        rng = random.Random(5)
        for source, n in (("faq", 350), ("forum", 350), ("manuals", 2000)):
            for _ in range(n):
                p, a = dialogue(rng, source)
                ids = list(p + a)
                labels = [-100] * len(p) + list(a)
                ids, labels = ids[:MAX_LEN], labels[:MAX_LEN]
                pad = MAX_LEN - len(ids)
                yield {"input_ids": ids + [0] * pad, "labels": labels + [-100] * pad,
                       "attention_mask": [1] * len(ids) + [0] * pad}


class Pace(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.28)


model = GPT2LMHeadModel(GPT2Config(vocab_size=256, n_positions=MAX_LEN, n_embd=64, n_layer=2, n_head=4,
                                   bos_token_id=0, eos_token_id=0))
args = TrainingArguments("out", max_steps=300, per_device_train_batch_size=BATCH, learning_rate=2e-3, logging_steps=5,
                         save_steps=50, report_to=[], use_cpu=True, disable_tqdm=True, logging_nan_inf_filter=False,
                         save_total_limit=3)
Trainer(model=model, args=args, train_dataset=Sources(), callbacks=[Pace()]).train()
model.save_pretrained("out/final")
print("saved out/final", flush=True)
