import time
import numpy as np, torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, EarlyStoppingCallback, Trainer, TrainerCallback, TrainingArguments
torch.set_num_threads(1); torch.manual_seed(0)

class D(Dataset):
    def __init__(s, n, seed):
        g = torch.Generator().manual_seed(seed); s.x = torch.randint(5, 60, (n, 12), generator=g)
        s.y = (s.x[:, 0] > s.x[:, 5]).long(); f = torch.rand(n, generator=g) < .15; s.y[f] = 1 - s.y[f]
    def __len__(s): return len(s.x)
    def __getitem__(s, i): return {"input_ids": s.x[i], "attention_mask": torch.ones(12, dtype=torch.long), "labels": s.y[i]}

class Slow(TrainerCallback):
    def on_step_end(self, args, state, control, **k): time.sleep(.07)

m = BertForSequenceClassification(BertConfig(vocab_size=64, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64, max_position_embeddings=16))
t = Trainer(m, TrainingArguments("out", per_device_train_batch_size=16, learning_rate=3e-3, max_steps=1000, eval_strategy="steps", eval_steps=24, save_steps=24, logging_steps=8,
            save_total_limit=2, load_best_model_at_end=True, metric_for_best_model="accuracy", report_to=[], use_cpu=True),
            train_dataset=D(600, 1), eval_dataset=D(160, 2), compute_metrics=lambda p: {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())},
            callbacks=[EarlyStoppingCallback(3), Slow()])
t.train()
print("stopped at step", t.state.global_step, "best", t.state.best_metric, t.state.best_model_checkpoint)
print(t.evaluate())
t.save_model("final")
