import json
import time

import torch
from transformers import (GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments, default_data_collator)
from transformers.trainer_callback import PrinterCallback

V, SEQ, N_PROMPTS = 200, 40, 24
g = torch.Generator().manual_seed(77)


def rows(n):
    start, step = torch.randint(0, V, (n, 1), generator=g), torch.randint(1, 6, (n, 1), generator=g)
    return [{"input_ids": r, "labels": r} for r in (start + step * torch.arange(SEQ)) % V]


class GenerateEval(TrainerCallback):
    """After every epoch: continue held-out prompts and score them one after the other (as the judge service does)."""

    def __init__(self, prompts):
        self.prompts = prompts

    def on_log(self, args, state, control, logs=None, **kw):
        if "loss" in logs:
            print(json.dumps({"step": state.global_step, "loss": round(logs["loss"], 4)}), flush=True)

    def on_step_end(self, *a, **k):
        time.sleep(0.09)

    def on_epoch_end(self, args, state, control, model=None, **kw):
        print(f"generating continuations for {len(self.prompts)} prompts (takes a while)", flush=True)
        model.eval()
        good = 0
        for p in self.prompts:
            ids = p["input_ids"][None, :16]
            out = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=20, do_sample=False)[0, 16:36]
            good += int((out == p["input_ids"][16:36]).sum())
            time.sleep(1.0)
        model.train()
        print(json.dumps({"epoch": round(state.epoch), "token_accuracy": round(good / 20 / len(self.prompts), 4)}), flush=True)


model = GPT2LMHeadModel(GPT2Config(vocab_size=V, n_positions=64, n_embd=64, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0,
                                   pad_token_id=0, loss_type="ForCausalLM"))
model.generation_config.eos_token_id = None
args = TrainingArguments("out", num_train_epochs=2, per_device_train_batch_size=8, learning_rate=3e-3, logging_steps=10,
                         save_strategy="epoch", save_total_limit=1, use_cpu=True, report_to="none", disable_tqdm=True,
                         dataloader_pin_memory=False)
trainer = Trainer(model, args, train_dataset=rows(1200), data_collator=default_data_collator, callbacks=[GenerateEval(rows(N_PROMPTS))])
trainer.remove_callback(PrinterCallback)
trainer.train()
print("finished", flush=True)
