import sys
import time

import torch
from datasets import load_from_disk
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

ds = load_from_disk(sys.argv[1])


def collate(rows):
    time.sleep(0.08)
    x = torch.tensor([r["input_ids"] for r in rows])
    return {"input_ids": x, "labels": x}


model = GPT2LMHeadModel(GPT2Config(vocab_size=128, n_positions=64, n_embd=64, n_layer=2, n_head=4, bos_token_id=10,
                                   eos_token_id=10, loss_type="ForCausalLM"))
args = TrainingArguments(sys.argv[2], max_steps=260, per_device_train_batch_size=8, per_device_eval_batch_size=16,
                         learning_rate=2e-3, warmup_steps=20, eval_strategy="steps", eval_steps=130, logging_steps=13,
                         save_steps=130, save_total_limit=1, use_cpu=True, report_to="none", dataloader_num_workers=1)
tr = Trainer(model, args, train_dataset=ds["train"], eval_dataset=ds["test"].select(range(32)), data_collator=collate)
tr.train()
tr.save_model(sys.argv[2] + "/final")
