"""Small GPT-2 from scratch on made-up text, with the Hugging Face Trainer."""
import time

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments, set_seed


class Blocks(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        start = torch.randint(0, 100, (n, 1), generator=g)
        step = torch.randint(1, 4, (n, 1), generator=g)
        self.x = (start + step * torch.arange(32)) % 100

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"input_ids": self.x[i], "labels": self.x[i]}


class Pace(TrainerCallback):
    """the box is shared: leave air between steps"""

    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.22)


if __name__ == "__main__":
    set_seed(11)
    cfg = GPT2Config(vocab_size=100, n_positions=32, n_embd=48, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)
    args = TrainingArguments(
        output_dir="out", per_device_train_batch_size=8, max_steps=800, learning_rate=1e-3, logging_steps=10,
        save_steps=100, save_total_limit=2, eval_strategy="steps", eval_steps=100, report_to=[], use_cpu=True,
        dataloader_num_workers=0,
    )
    tr = Trainer(model=GPT2LMHeadModel(cfg), args=args, train_dataset=Blocks(4000, 1), eval_dataset=Blocks(64, 2), callbacks=[Pace()])
    tr.train()
    tr.save_model("out/final")
