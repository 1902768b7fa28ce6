import json
import logging
import sys
import time

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

torch.set_num_threads(1)
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="[%(asctime)s][%(name)s][%(levelname)s] - %(message)s")
log = logging.getLogger("run_lm")


class Chains(Dataset):
    """Walks on a ring with random jumps, 32 tokens each."""

    def __init__(self, n=3000, vocab=512):
        g = torch.Generator().manual_seed(0)
        steps = torch.where(torch.rand(n, 32, generator=g) < 0.1, torch.randint(0, vocab, (n, 32), generator=g), torch.ones(n, 32).long())
        self.ids = steps.cumsum(1) % vocab

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "labels": self.ids[i]}


class Paced(Trainer):
    def training_step(self, *a, **k):
        time.sleep(0.12)
        return super().training_step(*a, **k)


def main():
    args = TrainingArguments(**json.load(open("conf/run.json")))
    model = GPT2LMHeadModel(GPT2Config(vocab_size=512, n_positions=32, n_embd=128, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0))
    log.info("parameters: %.2f M", model.num_parameters() / 1e6)
    trainer = Paced(model=model, args=args, train_dataset=Chains())
    trainer.train()
    trainer.save_model("scratch/lm/final")
    log.info("done")


if __name__ == "__main__":
    main()
