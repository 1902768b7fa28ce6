import os
import random
import time

os.environ["WANDB_DISABLED"] = "true"
import torch
from transformers import BertConfig, BertForMaskedLM, Trainer, TrainerCallback, TrainingArguments

torch.set_num_threads(1)


class Genes(torch.utils.data.Dataset):
    """Synthetic k-mers with masked positions."""

    def __len__(self):
        return 4000

    def __getitem__(self, i):
        r = random.Random(i)
        a, b = r.randrange(5, 60), r.randrange(1, 4)
        ids = torch.tensor([5 + (a + b * k) % 90 for k in range(24)])
        labels = torch.full_like(ids, -100)
        for k in r.sample(range(24), 4):
            labels[k] = ids[k]
            ids[k] = 4
        return {"input_ids": ids, "labels": labels, "attention_mask": torch.ones_like(ids)}


class Pace(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.3)


cfg = BertConfig(vocab_size=100, hidden_size=96, num_hidden_layers=2, num_attention_heads=4, intermediate_size=256, max_position_embeddings=32)
model = BertForMaskedLM(cfg)
print(f"model: {model.num_parameters():,} parameters")
args = TrainingArguments(
    output_dir="out/mlm", max_steps=400, per_device_train_batch_size=8, learning_rate=1e-3,
    logging_steps=10, save_steps=25, use_cpu=True, report_to=[], seed=1, dataloader_num_workers=0,
)
Trainer(model=model, args=args, train_dataset=Genes(), callbacks=[Pace()]).train()
model.save_pretrained("out/final")
