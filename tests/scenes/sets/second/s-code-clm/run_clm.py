import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import time
import torch
from torch.utils.data import Dataset
from transformers import (GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments, default_data_collator,
                          set_seed)

torch.set_num_threads(1)


class Blocks(Dataset):
    def __len__(self):
        return 5000

    def __getitem__(self, i):
        ids = (i * 31 + (1 + i % 5) * torch.arange(48)) % 4000
        return {"input_ids": ids, "labels": ids.clone()}


class Pace(TrainerCallback):
    def on_step_begin(self, args, state, control, **kw):
        time.sleep(0.1)


def main():
    set_seed(21)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=4000, n_positions=64, n_embd=128, n_layer=2, n_head=4,
                                       bos_token_id=0, eos_token_id=0))
    args = TrainingArguments(
        output_dir="scratch/clm", num_train_epochs=3, per_device_train_batch_size=4, learning_rate=3e-4, logging_steps=20,
        save_steps=100, report_to="none", use_cpu=True, dataloader_pin_memory=False)
    trainer = Trainer(model=model, args=args, train_dataset=Blocks(), data_collator=default_data_collator, callbacks=[Pace()])
    trainer.train()
    trainer.save_model()


main()
