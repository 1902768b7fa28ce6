import glob
import sys
import time

import torch
from datasets import load_dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

SEQ = 96
files = sorted(glob.glob("data/corpus-*.jsonl"))
print(f">> streaming {len(files)} shards", flush=True)
ds = load_dataset("json", data_files=files, split="train", streaming=True)


def encode(row):
    ids = list(row["text"].encode())[:SEQ]
    ids += [0] * (SEQ - len(ids))
    return {"input_ids": ids, "labels": [i if i else -100 for i in ids]}


def collate(rows):
    time.sleep(0.2)  # decoding and augmentation
    return {k: torch.tensor([r[k] for r in rows]) for k in ("input_ids", "labels")}


class Line(TrainerCallback):
    t = time.time()

    def on_log(self, args, state, control, logs=None, **kw):
        if "loss" in logs:
            dt, self.t = time.time() - self.t, time.time()
            print(f"it {state.global_step:>5} | loss {logs['loss']:.3f} | gnorm {logs['grad_norm']:.2f} | "
                  f"{args.logging_steps * args.per_device_train_batch_size / dt:.1f} doc/s", flush=True)


ds = ds.map(encode, remove_columns=["id", "source", "text"])
model = GPT2LMHeadModel(GPT2Config(vocab_size=256, n_positions=SEQ, n_embd=64, n_layer=2, n_head=4, bos_token_id=0,
                                   eos_token_id=0))
args = TrainingArguments("run", max_steps=260, per_device_train_batch_size=4, learning_rate=2e-3, logging_steps=5,
                         save_steps=100, warmup_steps=10, use_cpu=True, report_to="none", disable_tqdm=True,
                         dataloader_pin_memory=False)
trainer = Trainer(model, args, train_dataset=ds, data_collator=collate, callbacks=[Line()])
trainer.callback_handler.callbacks = [c for c in trainer.callback_handler.callbacks if type(c).__name__ != "PrinterCallback"]
trainer.train()
trainer.save_model("run/final")
print(">> finished", flush=True)
sys.exit(0)
