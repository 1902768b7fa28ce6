import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments, set_seed


class Blocks(torch.utils.data.Dataset):
    def __init__(self, path):
        self.a = np.load(path)[:1600]

    def __len__(self):
        return len(self.a)

    def __getitem__(self, i):
        t = torch.from_numpy(self.a[i].astype(np.int64))
        return {"input_ids": t, "labels": t}


class Pace(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.15)


set_seed(5)
model = GPT2LMHeadModel(GPT2Config(vocab_size=200, n_positions=32, n_embd=48, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0))
args = TrainingArguments("clm-out", num_train_epochs=2, per_device_train_batch_size=16, learning_rate=2e-3, logging_steps=10,
                         save_strategy="epoch", report_to=[], use_cpu=True)
trainer = Trainer(model=model, args=args, train_dataset=Blocks("packed/train.npy"), callbacks=[Pace()])
print("***** Running training *****", flush=True)
out = trainer.train()
trainer.save_model()
print(f"train_loss = {out.training_loss:.4f}", flush=True)
