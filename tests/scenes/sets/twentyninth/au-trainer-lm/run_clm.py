"""Llama-like model from scratch with the HF Trainer."""
import math
import os
import time

import torch
from torch.utils.data import Dataset
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainerCallback, TrainingArguments, set_seed

from corpus import text

torch.set_num_threads(1)
set_seed(42)
PACE = float(os.environ.get("PACE", 0.35))


class Blocks(Dataset):
    def __init__(self, chars, seed, size=96):
        ids = torch.tensor(list(text(chars, seed).encode()))
        self.x = ids[: len(ids) // size * size].view(-1, size)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"input_ids": self.x[i], "labels": self.x[i]}


class Pace(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(PACE)

    def on_prediction_step(self, args, state, control, **kw):
        time.sleep(PACE / 3)


model = LlamaForCausalLM(LlamaConfig(vocab_size=256, hidden_size=128, intermediate_size=320, num_hidden_layers=3,
                                     num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=128))
args = TrainingArguments(
    output_dir="outputs/llama-stories",
    per_device_train_batch_size=2,
    gradient_accumulation_steps=2,
    per_device_eval_batch_size=8,
    max_steps=280,
    learning_rate=1e-3,
    warmup_steps=30,
    lr_scheduler_type="cosine",
    logging_steps=5,
    eval_strategy="steps",
    eval_steps=70,
    save_strategy="steps",
    save_steps=70,
    save_total_limit=2,
    load_best_model_at_end=True,
    use_cpu=True,
    report_to="none",
)
trainer = Trainer(model=model, args=args, train_dataset=Blocks(300_000, 1), eval_dataset=Blocks(12_000, 2), callbacks=[Pace()])
print(f"***** {model.num_parameters():,} parameters, {len(trainer.train_dataset)} blocks *****", flush=True)
result = trainer.train()
trainer.save_model("outputs/final")
trainer.log_metrics("train", result.metrics)
metrics = trainer.evaluate()
metrics["perplexity"] = math.exp(metrics["eval_loss"])
trainer.log_metrics("eval", metrics)
