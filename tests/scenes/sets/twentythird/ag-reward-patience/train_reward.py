"""Reward model on preference pairs (Bradley-Terry) with the HF Trainer; stops by patience on eval_loss."""
import time

import torch
import torch.nn as nn
from torch.utils.data import Dataset
from transformers import EarlyStoppingCallback, Trainer, TrainerCallback, TrainingArguments

torch.manual_seed(5)


class Pairs(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.a = torch.randint(0, 400, (n, 12), generator=g)
        self.b = torch.randint(0, 400, (n, 12), generator=g)
        s = lambda t: (t % 7).sum(1).float()  # noqa: E731
        p = torch.sigmoid((s(self.a) - s(self.b)) / 4)
        flip = torch.rand(n, generator=g) > p
        self.a[flip], self.b[flip] = self.b[flip].clone(), self.a[flip].clone()

    def __len__(self):
        return len(self.a)

    def __getitem__(self, i):
        return {"chosen": self.a[i], "rejected": self.b[i]}


class Reward(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(400, 32)
        self.head = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 1))

    def forward(self, chosen, rejected):
        m = self.head(self.bag(chosen)) - self.head(self.bag(rejected))
        return {"loss": -nn.functional.logsigmoid(m).mean(), "logits": m}


class Pace(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.26)


args = TrainingArguments(
    output_dir="out", per_device_train_batch_size=16, max_steps=2000, learning_rate=3e-3, logging_steps=10,
    eval_strategy="steps", eval_steps=20, save_strategy="steps", save_steps=20, save_total_limit=2,
    load_best_model_at_end=True, metric_for_best_model="eval_loss", greater_is_better=False, lr_scheduler_type="constant",
    report_to=[], use_cpu=True, disable_tqdm=True, remove_unused_columns=False, label_names=[])
trainer = Trainer(model=Reward(), args=args, train_dataset=Pairs(1600, 1), eval_dataset=Pairs(400, 2),
                  callbacks=[Pace(), EarlyStoppingCallback(early_stopping_patience=4)])
trainer.can_return_loss = True
trainer.train()
s = trainer.state
print(f"early stopping: no better eval_loss in 4 evaluations, stopped at step {s.global_step} of at most {s.max_steps}; "
      f"best eval_loss {s.best_metric:.4f} from {s.best_model_checkpoint} is loaded", flush=True)
trainer.save_model("out/best")
