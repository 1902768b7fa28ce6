"""Text classification with our own optimizer and schedule handed to Trainer."""
import time

import torch
import torch.nn as nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments, get_linear_schedule_with_warmup, set_seed

BATCH, EPOCHS, ROWS, ACCUM = 16, 4, 1280, 1


class Rows(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.x = torch.randint(0, 500, (n, 24), generator=g)
        self.y = ((self.x < 250).sum(1) > 12).long()

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        time.sleep(0.014)
        return {"input_ids": self.x[i], "labels": self.y[i]}


class BagOfWords(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(500, 64)
        self.out = nn.Linear(64, 2)

    def forward(self, input_ids, labels=None):
        logits = self.out(self.emb(input_ids).mean(1))
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


def main():
    set_seed(2)
    model = BagOfWords()
    opt = torch.optim.AdamW(model.parameters(), lr=5e-4)
    # one optimizer step per "effective batch"
    total = ROWS // (BATCH * 8) * EPOCHS          # 8 = the number of GPUs on the old box
    sched = get_linear_schedule_with_warmup(opt, num_warmup_steps=4, num_training_steps=total)
    args = TrainingArguments(
        output_dir="out", num_train_epochs=EPOCHS, per_device_train_batch_size=BATCH,
        gradient_accumulation_steps=ACCUM, logging_steps=5, eval_strategy="no", save_strategy="epoch",
        save_total_limit=1, report_to="none", use_cpu=True, disable_tqdm=True,
    )
    Trainer(model=model, args=args, train_dataset=Rows(ROWS, 0), optimizers=(opt, sched)).train()


if __name__ == "__main__":
    main()
