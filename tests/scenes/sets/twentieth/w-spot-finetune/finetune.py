import os
import sys
import time
from datetime import datetime

import torch
from transformers import (BertConfig, BertForMaskedLM, Trainer, TrainerCallback, TrainingArguments, set_seed)
from transformers.trainer_utils import get_last_checkpoint

torch.set_num_threads(1)
set_seed(8)
with open("finetune.pid", "w") as f:
    f.write(str(os.getpid()))


class Masked(torch.utils.data.Dataset):
    def __init__(self, n=4000, width=24, vocab=60):
        g = torch.Generator().manual_seed(2)
        topic = torch.randint(0, 13, (n, 1), generator=g)
        self.ids = 5 + topic * 4 + torch.randint(0, 4, (n, width), generator=g) * (torch.arange(width) % 3 == 0)
        self.mask = torch.rand(n, width, generator=g) < 0.15

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        ids, labels = self.ids[i].clone(), self.ids[i].clone()
        labels[~self.mask[i]] = -100
        ids[self.mask[i]] = 4
        return {"input_ids": ids, "labels": labels}


class Pace(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.2)

    def on_log(self, args, state, control, logs=None, **kw):
        if logs and "loss" in logs:
            print(f"step {state.global_step}/{state.max_steps} loss={float(logs['loss']):.4f} "
                  f"lr={float(logs['learning_rate']):.2e} epoch={float(logs['epoch']):.2f}", flush=True)


def main():
    run_dir = os.path.join("runs", datetime.now().strftime("mlm_%Y%m%d_%H%M%S"))
    os.makedirs(run_dir, exist_ok=True)
    print(f"run dir: {run_dir}", flush=True)
    last = get_last_checkpoint(run_dir)
    print(f"resume from: {last}", flush=True)
    model = BertForMaskedLM(BertConfig(vocab_size=60, hidden_size=64, num_hidden_layers=2, num_attention_heads=2,
                                       intermediate_size=128))
    args = TrainingArguments(output_dir=run_dir, per_device_train_batch_size=8, max_steps=int(sys.argv[1]),
                             learning_rate=1e-3, logging_steps=10, save_steps=50, save_total_limit=2, report_to=[],
                             use_cpu=True, disable_tqdm=True, dataloader_pin_memory=False)
    trainer = Trainer(model=model, args=args, train_dataset=Masked(), callbacks=[Pace()])
    trainer.remove_callback(__import__("transformers").PrinterCallback)
    trainer.train(resume_from_checkpoint=last)
    print("done", flush=True)


main()
