"""Continued pre-training from jsonl shards."""
import glob
import json
import logging
import os
import random
import sys
import time

import torch
from torch.utils.data import IterableDataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(asctime)s | %(levelname)s | %(message)s")
log = logging.getLogger("pretrain")
DATA = os.environ.get("DATA_DIR", "corpus")


def make_corpus(root, n=4):
    os.makedirs(root, exist_ok=True)
    rng = random.Random(0)
    for s in range(n):
        with open(f"{root}/shard_{s}.jsonl", "w") as f:
            for _ in range(400):
                a = rng.randrange(64)
                f.write(json.dumps({"ids": [(a + k) % 64 for k in range(32)]}) + "\n")


class Shards(IterableDataset):
    def __init__(self, pattern):
        self.files = sorted(glob.glob(pattern))

    def __iter__(self):
        for name in self.files:
            for line in open(name):
                ids = torch.tensor(json.loads(line)["ids"])
                yield {"input_ids": ids, "labels": ids}


def main():
    set_seed(0)
    make_corpus("corpus_v2")
    log.info("building the tokenizer cache ...")
    time.sleep(8)
    pattern = f"{DATA}/*.jsonl"
    train = Shards(pattern)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=32, n_embd=32, n_layer=1, n_head=2,
                                       bos_token_id=0, eos_token_id=0))
    log.info("parameters: %.2fk", sum(p.numel() for p in model.parameters()) / 1e3)
    args = TrainingArguments(output_dir="pretrained", max_steps=5000, per_device_train_batch_size=8, logging_steps=20,
                             save_steps=500, report_to="none", use_cpu=True)
    trainer = Trainer(model=model, args=args, train_dataset=train)
    trainer.train()
    trainer.save_model("pretrained/final")
    log.info("Training complete, model written to pretrained/final")


if __name__ == "__main__":
    main()
