#!/usr/bin/env python
import logging
import random
import sys
import time

import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForMaskedLM, Trainer, TrainerCallback, TrainingArguments

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(levelname)-7s %(name)s | %(message)s")
log = logging.getLogger("mlm")
VOCAB, SEQ, MASK = 1200, 32, 1


class Clauses(Dataset):
    """Sentences drawn from a small grammar, masked on the fly."""

    def __init__(self, n, seed=0):
        rnd = random.Random(seed)
        topics = [[rnd.randrange(10, VOCAB) for _ in range(40)] for _ in range(30)]
        self.rows = [[rnd.choice(t) for _ in range(SEQ)] for t in (rnd.choice(topics) for _ in range(n))]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        ids = torch.tensor(self.rows[i])
        mask = torch.rand(SEQ) < 0.15
        labels = torch.where(mask, ids, torch.tensor(-100))
        return {"input_ids": torch.where(mask, torch.tensor(MASK), ids), "labels": labels}


class Say(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.11)

    def on_log(self, args, state, control, logs=None, **kw):
        if "loss" in logs:
            log.info("step=%d/%d loss=%.4f lr=%.2e", state.global_step, state.max_steps, logs["loss"], logs["learning_rate"])

    def on_save(self, args, state, control, **kw):
        log.info("saved checkpoint-%d", state.global_step)


def main():
    model = BertForMaskedLM(BertConfig(vocab_size=VOCAB, hidden_size=128, num_hidden_layers=2, num_attention_heads=4,
                                       intermediate_size=384, max_position_embeddings=64))
    log.info("model has %.2fM parameters", model.num_parameters() / 1e6)
    args = TrainingArguments(output_dir="scratch/mlm", max_steps=1200, per_device_train_batch_size=8, learning_rate=5e-4,
                             save_steps=60, logging_steps=20, use_cpu=True, report_to="none", disable_tqdm=True,
                             warmup_steps=50, dataloader_pin_memory=False)
    trainer = Trainer(model=model, args=args, train_dataset=Clauses(6000), callbacks=[Say()])
    from transformers.trainer_callback import PrinterCallback
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    trainer.save_model()
    log.info("done")


if __name__ == "__main__":
    main()
