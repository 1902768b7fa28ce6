"""A tiny causal LM on recipes (HF Trainer). The evaluation scores the whole held-out cook book, quietly."""
import time

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed


class Recipes(Dataset):
    def __init__(self, n, seed, wait):
        g = torch.Generator().manual_seed(seed)
        self.x = (torch.randint(0, 60, (n, 1), generator=g) + torch.arange(32) * torch.randint(1, 4, (n, 1), generator=g)) % 64
        self.wait = wait

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        time.sleep(self.wait)
        return {"input_ids": self.x[i], "labels": self.x[i]}


set_seed(4)
model = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0))
args = TrainingArguments(
    output_dir="recipe-lm", max_steps=200, per_device_train_batch_size=8, per_device_eval_batch_size=8, learning_rate=2e-3,
    logging_steps=10, eval_strategy="steps", eval_steps=100, save_strategy="no", report_to=[], use_cpu=True, disable_tqdm=True)
tr = Trainer(model, args, train_dataset=Recipes(4000, 0, 0.014), eval_dataset=Recipes(1700, 1, 0.04))
tr.train()
tr.save_model("recipe-lm/last")
print("recipe-lm/last written")
