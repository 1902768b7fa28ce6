"""Small GPT-2 from scratch on streamed text shards with the HF Trainer."""
import glob
import logging
import sys
import time

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from torch.utils.data import Dataset, IterableDataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("pretrain")
SEQ = 24


def make_tokenizer():
    tok = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tok.pre_tokenizer = pre_tokenizers.Whitespace()
    tok.train(["corpus/shard_00.txt"], trainers.WordLevelTrainer(special_tokens=["[UNK]", "[EOS]"]))
    return tok


def read_lines(path):
    with open(path, encoding="utf-8", errors="ignore") as f:
        yield from f


class Stream(IterableDataset):
    def __init__(self, tok):
        self.tok = tok

    def __iter__(self):
        while True:
            for path in sorted(glob.glob("corpus/shard_*.txt")):
                log.info("reading %s", path)
                for line in read_lines(path):
                    ids = self.tok.encode(line).ids[:SEQ]
                    if len(ids) == SEQ:
                        t = torch.tensor(ids)
                        yield {"input_ids": t, "labels": t}


class Valid(Dataset):
    def __init__(self, tok):
        self.rows = [torch.tensor(tok.encode(x).ids[:SEQ]) for x in read_lines("corpus/valid.txt")]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return {"input_ids": self.rows[i], "labels": self.rows[i]}


class Pace(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.3)

    def on_log(self, args, state, control, logs=None, **kw):
        log.info("step %d %s", state.global_step, {k: v for k, v in logs.items() if k != "epoch"})


def main():
    torch.set_num_threads(1)
    tok = make_tokenizer()
    cfg = GPT2Config(vocab_size=tok.get_vocab_size(), n_positions=SEQ, n_embd=64, n_layer=2, n_head=2,
                     bos_token_id=1, eos_token_id=1)
    args = TrainingArguments(output_dir="out", max_steps=330, per_device_train_batch_size=8, learning_rate=2e-3,
                             lr_scheduler_type="constant", logging_steps=5, eval_strategy="steps", eval_steps=40,
                             save_steps=40, save_total_limit=2, report_to="none", use_cpu=True, disable_tqdm=True,
                             dataloader_num_workers=0, dataloader_pin_memory=False, seed=4)
    tr = Trainer(GPT2LMHeadModel(cfg), args, train_dataset=Stream(tok), eval_dataset=Valid(tok), callbacks=[Pace()])
    tr.train()
    tr.save_model("final")
    log.info("done")


if __name__ == "__main__":
    main()
