"""Supervised fine-tuning on support dialogues, answers only; short dialogues first (curriculum)."""
import os
import random
import time

import torch
from torch.utils.data import Dataset, SequentialSampler
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainerCallback, TrainingArguments, set_seed

torch.set_num_threads(1)
set_seed(11)
PAUSE = float(os.environ.get("PAUSE", 0.5))
MAX_LEN, VOCAB, BATCH = 48, 120, 4
rng = random.Random(4)


def dialogue(prompt_len):
    topic = rng.randrange(20)
    prompt = [rng.randrange(40, 60) if rng.random() < 0.6 else 60 + topic for _ in range(prompt_len)]
    answer = [80 + (topic + k) % 10 * 4 + rng.randrange(4) for k in range(14)]
    return prompt + [1], answer + [2]


class Answers(Dataset):
    def __init__(self, lengths):
        self.rows = []
        for n in lengths:
            p, a = dialogue(n)
            ids = (p + a)[:MAX_LEN]
            labels = ([-100] * len(p) + a)[:MAX_LEN]
            pad = MAX_LEN - len(ids)
            self.rows.append({
                "input_ids": torch.tensor(ids + [0] * pad),
                "labels": torch.tensor(labels + [-100] * pad),
                "attention_mask": torch.tensor([1] * len(ids) + [0] * pad),
            })

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


class Curriculum(Trainer):
    def _get_train_sampler(self, *a, **k):
        return SequentialSampler(self.train_dataset)


class Pace(TrainerCallback):
    def on_step_end(self, *a, **k):
        time.sleep(PAUSE)


# the export's prompt lengths, sorted: most are short, the tail holds whole e-mail threads
lengths = sorted([int(rng.triangular(5, 34, 12)) for _ in range(560)] + [rng.randrange(48, 70) for _ in range(740)])
train, held = Answers(lengths), Answers([rng.randrange(6, 30) for _ in range(32)])
print(f"{len(train)} dialogues, prompts {lengths[0]}..{lengths[-1]} tokens, max_length {MAX_LEN}", flush=True)
model = LlamaForCausalLM(LlamaConfig(vocab_size=VOCAB, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
                                     num_attention_heads=4, max_position_embeddings=MAX_LEN))
args = TrainingArguments(output_dir="out", per_device_train_batch_size=BATCH, num_train_epochs=1, learning_rate=2e-3,
                         warmup_steps=10, logging_steps=1, disable_tqdm=True, report_to=[], save_strategy="steps",
                         save_steps=100, save_total_limit=1, eval_strategy="steps", eval_steps=50, use_cpu=True,
                         dataloader_pin_memory=False)
Curriculum(model, args, train_dataset=train, eval_dataset=held, callbacks=[Pace()]).train()
model.save_pretrained("out/final")
