"""Ticket routing: fine-tunes a small BERT with the HF Trainer; checkpoints go to the scratch volume."""
import time

import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments
from transformers.utils import logging as hf_logging

hf_logging.set_verbosity_info()
logger = hf_logging.get_logger("transformers.tickets")
VOCAB, SEQ, LABELS = 300, 20, 6


class Tickets(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.y = torch.randint(0, LABELS, (n,), generator=g)
        x = torch.randint(LABELS * 8, VOCAB, (n, SEQ), generator=g)
        mark = self.y[:, None] * 8 + torch.randint(0, 8, (n, SEQ), generator=g)
        self.x = torch.where(torch.rand(n, SEQ, generator=g) < 0.22, mark, x)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return {"input_ids": self.x[i], "labels": self.y[i]}


class Patient(Trainer):
    """The volume is a network one and has hiccups: a checkpoint that cannot be written must not end the run."""

    def _save_checkpoint(self, model, trial):
        try:
            super()._save_checkpoint(model, trial)
        except OSError as e:
            logger.warning(f"step {self.state.global_step}: checkpoint not written ({e}), next try in "
                           f"{self.args.save_steps} steps")


class Pace(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.3)


def main():
    torch.set_num_threads(1)
    cfg = BertConfig(vocab_size=VOCAB, hidden_size=64, num_hidden_layers=2, num_attention_heads=2,
                     intermediate_size=128, max_position_embeddings=SEQ, num_labels=LABELS)
    args = TrainingArguments(output_dir="scratch/tickets", max_steps=340, per_device_train_batch_size=16,
                             learning_rate=5e-4, logging_steps=10, save_steps=30, save_total_limit=3,
                             report_to="none", use_cpu=True, disable_tqdm=True, dataloader_pin_memory=False)
    tr = Patient(BertForSequenceClassification(cfg), args, train_dataset=Tickets(4000, 1), callbacks=[Pace()])
    tr.train()
    tr.save_model("scratch/tickets/final")


if __name__ == "__main__":
    main()
