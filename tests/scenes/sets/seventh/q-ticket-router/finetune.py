"""Fine-tune a small BERT to route support tickets."""
import logging
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments, set_seed

logging.basicConfig(format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", level=logging.INFO)
log = logging.getLogger("finetune")


class Tickets(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.y = torch.randint(0, 6, (n,), generator=g)
        self.x = torch.randint(10, 400, (n, 24), generator=g)
        at = torch.randint(1, 24, (n, 3), generator=g)
        for k in range(3):
            self.x[torch.arange(n), at[:, k]] = 400 + self.y * 10 + k

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return {"input_ids": self.x[i], "attention_mask": torch.ones(24, dtype=torch.long), "labels": self.y[i]}


class Pace(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.2)


def main():
    set_seed(42)
    cfg = BertConfig(vocab_size=500, hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=128,
                     max_position_embeddings=32, num_labels=6)
    args = TrainingArguments(output_dir="out", num_train_epochs=4, per_device_train_batch_size=16, learning_rate=5e-4,
                             logging_steps=10, save_steps=100, save_total_limit=2, eval_strategy="epoch",
                             report_to=[], use_cpu=True, disable_tqdm=True)
    log.info("train 4000 tickets, eval 400 tickets, 6 queues")
    trainer = Trainer(model=BertForSequenceClassification(cfg), args=args, train_dataset=Tickets(4000, 1),
                      eval_dataset=Tickets(400, 2), callbacks=[Pace()])
    trainer.train()
    trainer.save_model("out/final")


if __name__ == "__main__":
    main()
