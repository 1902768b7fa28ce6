"""Continued pre-training on a stream of shards with the HF Trainer."""
import json
import logging
import os
import sys
import time

import torch
from torch.utils.data import IterableDataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
log = logging.getLogger("clm")
T = 48


class ShardStream(IterableDataset):
    """Reads the shards of the manifest once, in order."""

    def __init__(self, manifest):
        self.files = json.load(open(manifest))["shards"]
        self.rows = self._read()

    def _read(self):
        for name in self.files:
            if not os.path.exists(name):
                log.info("%s not synced yet, going on with the next", name)
                continue
            log.info("reading %s", name)
            for line in open(name):
                yield [ord(c) - 32 for c in line.rstrip("\n")[:T]]

    def __iter__(self):
        for ids in self.rows:
            t = torch.tensor(ids)
            yield {"input_ids": t, "labels": t}


class Pace(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.26)


def main():
    torch.manual_seed(1)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=96, n_positions=T, n_embd=64, n_layer=2, n_head=2))
    args = TrainingArguments(
        output_dir="out", max_steps=1000, per_device_train_batch_size=8, learning_rate=1e-3, logging_steps=10,
        save_steps=60, save_total_limit=3, report_to=[], use_cpu=True, disable_tqdm=True, warmup_steps=20,
        accelerator_config={"dispatch_batches": False})
    trainer = Trainer(model=model, args=args, train_dataset=ShardStream("manifest.json"), callbacks=[Pace()])
    log.info("training for %d steps", args.max_steps)
    trainer.train()
    trainer.save_model("out/final")
    log.info("Training complete. Model saved to out/final (global step %d of %d)", trainer.state.global_step, args.max_steps)


if __name__ == "__main__":
    main()
