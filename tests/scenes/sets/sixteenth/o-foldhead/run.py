import time

import torch
import yaml
from transformers import Trainer, TrainerCallback, TrainingArguments

from data import Chains
from model import FoldHead

cfg = yaml.safe_load(open("config.yaml"))
torch.set_num_threads(1)
torch.manual_seed(cfg["data"]["seed"])
ds = Chains(cfg["data"]["n_chains"], cfg["data"]["length"], cfg["data"]["seed"])


def collate(rows):
    res = torch.stack([r["input_ids"] for r in rows])
    n = res.shape[1]
    pos = torch.arange(n).repeat(len(rows), 1)
    for k, r in enumerate(rows):
        if r["sample_id"] >= ds.first_dimer:
            pos[k] = torch.arange(n) % (n // 2)
    return {"input_ids": res, "labels": torch.stack([r["labels"] for r in rows]), "entity_pos": pos}


class Pace(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.12)


class Ordered(Trainer):
    """Monomers first, then complexes."""

    def _get_train_sampler(self, *a, **k):
        return torch.utils.data.SequentialSampler(ds)


args = TrainingArguments(
    output_dir="out", per_device_train_batch_size=2, learning_rate=cfg["train"]["lr"], max_steps=cfg["train"]["max_steps"],
    logging_steps=cfg["train"]["log_every"], save_strategy="no", report_to=[], disable_tqdm=True, use_cpu=True,
    remove_unused_columns=False, warmup_steps=20, seed=20,
)
print(f"chains: {len(ds)}  parameters: {sum(p.numel() for p in FoldHead(**cfg['model']).parameters())}", flush=True)
trainer = Ordered(model=FoldHead(**cfg["model"]), args=args, train_dataset=ds, data_collator=collate, callbacks=[Pace()])
trainer.train()
trainer.save_model("out/final")
print("saved out/final", flush=True)
