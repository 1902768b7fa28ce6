import os
import random
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["TOKENIZERS_PARALLELISM"] = "false"
import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

WORDS = ["sun", "rain", "wind", "tree", "river", "stone", "bird", "moon", "snow", "leaf", "sand", "cloud"]


def prepare():
    """Tokenise by characters, drop near doubles, pack into rows of 32. Takes its time and says nothing."""
    random.seed(0)
    seen, ids = set(), []
    for part in range(90):
        text = " ".join(random.choice(WORDS) for _ in range(60))
        grams = {hash(text[i:i + 8]) for i in range(len(text) - 8)}
        if len(grams & seen) < 0.99 * len(grams):
            seen |= grams
            ids.extend(ord(c) - 32 for c in text)
        time.sleep(0.5)
    n = len(ids) // 32
    rows = np.array(ids[:n * 32], dtype=np.int64).reshape(n, 32)
    np.save("packed.npy", rows)
    return torch.from_numpy(rows)


class Rows(torch.utils.data.Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return {"input_ids": self.rows[i], "labels": self.rows[i]}


class Pace(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.2)


if __name__ == "__main__":
    torch.manual_seed(0)
    print("preparing data ...", flush=True)
    rows = prepare()
    cfg = GPT2Config(vocab_size=96, n_positions=32, n_embd=32, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0)
    args = TrainingArguments(output_dir="out", per_device_train_batch_size=8, max_steps=120, learning_rate=2e-3,
                             logging_steps=10, save_steps=60, report_to="none", use_cpu=True, seed=0)
    Trainer(model=GPT2LMHeadModel(cfg), args=args, train_dataset=Rows(rows), callbacks=[Pace()]).train()
    print("done", flush=True)
