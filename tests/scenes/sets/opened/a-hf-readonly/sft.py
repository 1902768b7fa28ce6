"""Small causal LM, HF Trainer, saves on the mounted volume `out`."""
import time

import torch
from torch.utils.data import Dataset
from transformers import (GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments, set_seed)


class Counting(Dataset):
    def __len__(self):
        return 4000

    def __getitem__(self, i):
        time.sleep(0.025)
        ids = (torch.arange(32) * (1 + i % 3) + i) % 96
        return {"input_ids": ids, "labels": ids.clone()}


class Tell(TrainerCallback):
    def on_save(self, args, state, control, **kwargs):
        print(f"*** saved checkpoint-{state.global_step} ***", flush=True)


if __name__ == "__main__":
    set_seed(0)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=96, n_positions=32, n_embd=48, n_layer=2, n_head=2,
                                       bos_token_id=0, eos_token_id=0))
    args = TrainingArguments(
        output_dir="out/sft", num_train_epochs=1, per_device_train_batch_size=8, learning_rate=2e-3, logging_steps=10,
        save_steps=50, save_total_limit=2, report_to="none", use_cpu=True,
    )
    Trainer(model=model, args=args, train_dataset=Counting(), callbacks=[Tell()]).train()
