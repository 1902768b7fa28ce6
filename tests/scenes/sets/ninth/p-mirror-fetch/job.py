import json
import logging
import os
import subprocess
import sys
import time
import urllib.request

import torch
from torch.utils.data import IterableDataset
from transformers import (AlbertConfig, AlbertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments)
from transformers.trainer_callback import PrinterCallback

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
log = logging.getLogger("job")
WORDS = "<pad> good bad alpha beta gamma delta eps zeta eta theta".split()


def fetch(url, tries=6):
    for k in range(1, tries + 1):
        try:
            with urllib.request.urlopen(url, timeout=10) as r:
                return json.loads(r.read())
        except OSError:
            if k == tries:
                raise
            log.exception("fetch of %s failed (attempt %d of %d), retrying in %.1f s", url, k, tries, 0.5 * k)
            time.sleep(0.5 * k)


class Remote(IterableDataset):
    def __init__(self, base, shards):
        self.base, self.shards = base, shards

    def __iter__(self):
        for s in range(self.shards):
            for r in fetch(f"{self.base}/shard-{s:04d}.json"):
                yield {"input_ids": torch.tensor([WORDS.index(w) for w in r["text"].split()]), "labels": r["y"]}


class Lines(TrainerCallback):
    def on_step_end(self, *a, **k):
        time.sleep(0.12)

    def on_log(self, args, state, control, logs=None, **kw):
        if "loss" in logs:
            log.info("step %d/%d loss %.4f lr %.2e", state.global_step, state.max_steps, logs["loss"], logs["learning_rate"])


def main():
    port_file = "mirror.port"
    mirror = subprocess.Popen([sys.executable, "mirror.py", port_file])
    try:
        while not (os.path.exists(port_file) and open(port_file).read().strip()):
            time.sleep(0.1)
        base = f"http://127.0.0.1:{open(port_file).read().strip()}/reviews"
        model = AlbertForSequenceClassification(AlbertConfig(
            vocab_size=len(WORDS), embedding_size=32, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
            intermediate_size=128, max_position_embeddings=16, num_labels=2, pad_token_id=0, bos_token_id=1, eos_token_id=2))
        args = TrainingArguments("reviews", max_steps=320, per_device_train_batch_size=8, learning_rate=3e-4, logging_steps=8,
                                 save_steps=160, save_total_limit=1, use_cpu=True, report_to="none", disable_tqdm=True,
                                 dataloader_pin_memory=False)
        trainer = Trainer(model, args, train_dataset=Remote(base, 60), callbacks=[Lines()])
        trainer.remove_callback(PrinterCallback)
        trainer.train()
        trainer.save_model("reviews/final")
        log.info("finished after %d steps", trainer.state.global_step)
    finally:
        mirror.terminate()


if __name__ == "__main__":
    main()
