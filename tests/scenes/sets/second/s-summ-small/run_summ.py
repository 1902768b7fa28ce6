import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import difflib
import time
import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments, set_seed

torch.set_num_threads(1)


class Texts(Dataset):
    def __init__(self, n, off):
        self.n, self.off = n, off

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        ids = ((i + self.off) * 17 + (1 + i % 3) * torch.arange(32)) % 300
        return {"input_ids": ids, "labels": ids.clone()}


class Pace(TrainerCallback):
    def on_step_begin(self, args, state, control, **kw):
        time.sleep(0.1)


def overlap(pred):
    """slow pure-python overlap score, sentence by sentence"""
    scores = []
    for p, y in zip(pred.predictions[:, :-1], pred.label_ids[:, 1:]):
        scores.append(difflib.SequenceMatcher(None, p.tolist(), y.tolist()).ratio())
        time.sleep(0.12)
    return {"overlap": float(np.mean(scores))}


def main():
    set_seed(5)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=300, n_positions=32, n_embd=48, n_layer=2, n_head=2, bos_token_id=0,
                                       eos_token_id=0))
    args = TrainingArguments(
        output_dir="out", max_steps=240, per_device_train_batch_size=4, learning_rate=1e-3, logging_steps=20,
        eval_strategy="steps", eval_steps=120, per_device_eval_batch_size=8, save_strategy="steps", save_steps=120,
        report_to="none", use_cpu=True, disable_tqdm=True, dataloader_pin_memory=False)
    trainer = Trainer(model=model, args=args, train_dataset=Texts(4000, 0), eval_dataset=Texts(330, 9000),
                      compute_metrics=overlap, preprocess_logits_for_metrics=lambda lo, la: lo.argmax(-1), callbacks=[Pace()])
    trainer.train()
    trainer.save_model("out/final")
    print("all done")


main()
