"""LoRA fine-tuning with the HF Trainer; token accuracy on the dev set after every 160 steps."""
import time

import numpy as np
import torch
from peft import LoraConfig, get_peft_model
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments, set_seed

set_seed(1)
torch.set_num_threads(1)
VOCAB = 32000


class Chats(Dataset):
    def __init__(self, n, length, seed):
        rng = np.random.default_rng(seed)
        start = rng.integers(0, 400, (n, 1))
        self.x = (start + rng.integers(1, 4, (n, 1)) * np.arange(length)) % 400

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        t = torch.tensor(self.x[i])
        return {"input_ids": t, "labels": t.clone()}


def token_accuracy(p):
    pred = p.predictions.argmax(-1)[:, :-1]
    return {"token_accuracy": float((pred == p.label_ids[:, 1:]).mean())}


class Pace(TrainerCallback):
    def on_step_end(self, *a, **k):
        time.sleep(0.2)


base = GPT2LMHeadModel(GPT2Config(vocab_size=VOCAB, n_positions=256, n_embd=48, n_layer=2, n_head=4,
                                  bos_token_id=0, eos_token_id=0))
model = get_peft_model(base, LoraConfig(r=8, lora_alpha=32, target_modules=["c_attn", "c_proj", "c_fc"],
                                        modules_to_save=["wte"], task_type="CAUSAL_LM"))
model.print_trainable_parameters()
args = TrainingArguments("out", per_device_train_batch_size=2, per_device_eval_batch_size=4, max_steps=480,
                         learning_rate=2e-3, logging_steps=10, save_steps=50, save_total_limit=3,
                         eval_strategy="steps", eval_steps=160, use_cpu=True, report_to=[], dataloader_num_workers=0)
Trainer(model=model, args=args, train_dataset=Chats(4000, 40, 0), eval_dataset=Chats(300, 200, 1),
        compute_metrics=token_accuracy, callbacks=[Pace()]).train()
