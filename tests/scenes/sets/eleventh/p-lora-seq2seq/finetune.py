"""LoRA on a tiny T5: a headline for a list of keywords."""
import time

import numpy as np
import torch
from peft import LoraConfig, TaskType, get_peft_model
from transformers import (Seq2SeqTrainer, Seq2SeqTrainingArguments, T5Config, T5ForConditionalGeneration,
                          TrainerCallback, set_seed)

set_seed(31)
rng = np.random.default_rng(31)
HEAD = rng.integers(100, 200, (6, 6))  # one headline a subject


class Keywords(torch.utils.data.Dataset):
    def __init__(self, n):
        self.src = 20 + 10 * rng.integers(0, 6, (n, 1)) + rng.integers(0, 10, (n, 5))

    def __len__(self):
        return len(self.src)

    def __getitem__(self, i):
        out = HEAD[(self.src[i, 0] - 20) // 10]
        return {"input_ids": [*self.src[i].tolist(), 1], "attention_mask": [1] * 6, "labels": [*out.tolist(), 1]}


def exact(p):
    pred = np.asarray(p.predictions)[:, 1:8]
    return {"exact": float((pred[:, :p.label_ids.shape[1]] == p.label_ids[:, :pred.shape[1]]).mean())}


class Nap(TrainerCallback):
    def on_step_end(self, *a, **k):
        time.sleep(0.1)


base = T5ForConditionalGeneration(T5Config(vocab_size=200, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4,
                                           decoder_start_token_id=0, pad_token_id=0, eos_token_id=1))
model = get_peft_model(base, LoraConfig(task_type=TaskType.SEQ_2_SEQ_LM, r=16, lora_alpha=32, lora_dropout=0.05,
                                        target_modules=["q", "v", "wi", "wo"], modules_to_save=["lm_head", "shared"]))
model.print_trainable_parameters()
args = Seq2SeqTrainingArguments("lora-out", num_train_epochs=4, per_device_train_batch_size=16, learning_rate=5e-3,
                                predict_with_generate=True, generation_max_length=8, eval_strategy="epoch", save_strategy="epoch",
                                save_total_limit=2, logging_steps=20, use_cpu=True, report_to="tensorboard",
                                dataloader_pin_memory=False)
trainer = Seq2SeqTrainer(model, args, train_dataset=Keywords(1400), eval_dataset=Keywords(96), compute_metrics=exact, callbacks=[Nap()])
trainer.train()
model.save_pretrained("lora-out/adapter")
print("adapter -> lora-out/adapter")
