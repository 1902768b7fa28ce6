import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments


class Pairs(torch.utils.data.Dataset):
    def __len__(self):
        return 1600

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        ids = torch.randint(5, 300, (20,), generator=g)
        label = int((ids[:10].float().mean() > ids[10:].float().mean()))
        return {"input_ids": ids, "attention_mask": torch.ones(20, dtype=torch.long), "labels": label}


class Slow(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.35)


torch.manual_seed(0)
cfg = BertConfig(vocab_size=300, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96,
                 max_position_embeddings=32, num_labels=2)
args = TrainingArguments(output_dir="runs/cls", per_device_train_batch_size=8, num_train_epochs=2, learning_rate=5e-4,
                         warmup_steps=20, logging_steps=10, save_steps=50, save_total_limit=2, report_to="none", use_cpu=True, seed=1)
Trainer(model=BertForSequenceClassification(cfg), args=args, train_dataset=Pairs(), callbacks=[Slow()]).train()
print("done", flush=True)
