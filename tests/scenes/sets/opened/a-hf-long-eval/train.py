import time

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed


class Seqs(Dataset):
    def __init__(self, n, pace):
        self.n, self.pace = n, pace

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        time.sleep(self.pace)
        ids = (torch.arange(24) * (1 + i % 4) + 7 * i) % 80
        return {"input_ids": ids, "labels": ids.clone()}


if __name__ == "__main__":
    set_seed(1)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=80, n_positions=24, n_embd=32, n_layer=2, n_head=2,
                                       bos_token_id=0, eos_token_id=0))
    args = TrainingArguments(
        output_dir="lm", max_steps=160, per_device_train_batch_size=8, per_device_eval_batch_size=32,
        learning_rate=3e-3, logging_steps=8, eval_strategy="steps", eval_steps=80, save_strategy="steps", save_steps=80,
        log_level="info", disable_tqdm=True, report_to="none", use_cpu=True,
    )
    trainer = Trainer(model=model, args=args, train_dataset=Seqs(8000, 0.02), eval_dataset=Seqs(1100, 0.04))
    trainer.train()
    trainer.save_model("lm/final")
