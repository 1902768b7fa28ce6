#!/usr/bin/env python
"""Fine-tune BERT for topic classification (after the example script of transformers)."""
import logging
import sys
import time
from dataclasses import dataclass, field

import numpy as np
import transformers
from datasets import Dataset, DatasetDict
from transformers import (BertConfig, BertForSequenceClassification, DataCollatorWithPadding, HfArgumentParser, Trainer,
                          TrainerCallback, TrainingArguments, set_seed)
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

logger = logging.getLogger(__name__)
TOPICS = {"sport": "goal match team win coach league score", "law": "court judge appeal case claim ruling verdict",
          "food": "soup bread pepper oven taste recipe salt", "space": "orbit probe moon launch rocket star crater"}
FILL = "the a in on with and of to it was is for by at".split()


@dataclass
class DataArgs:
    train_size: int = field(default=1600)
    eval_size: int = field(default=240)
    delay: float = field(default=0.1)


class Throttle(TrainerCallback):
    def __init__(self, s):
        self.s = s

    def on_step_end(self, *a, **k):
        time.sleep(self.s)


def make(n, rng):
    names = list(TOPICS)
    y = rng.integers(0, 4, n)
    text = [" ".join(rng.choice(TOPICS[names[c]].split()) if rng.random() < 0.3 else rng.choice(FILL) for _ in range(rng.integers(8, 18)))
            for c in y]
    return Dataset.from_dict({"text": text, "label": y.tolist()})


def main():
    data_args, args = HfArgumentParser((DataArgs, TrainingArguments)).parse_args_into_dataclasses()
    logging.basicConfig(format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", datefmt="%m/%d/%Y %H:%M:%S",
                        handlers=[logging.StreamHandler(sys.stdout)], level=logging.INFO)
    transformers.utils.logging.set_verbosity_info()
    logger.warning(f"Process rank: {args.local_process_index}, device: {args.device}, 16-bits training: {args.fp16}")
    set_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    raw = DatasetDict(train=make(data_args.train_size, rng), validation=make(data_args.eval_size, rng))
    words = ["[PAD]", "[UNK]"] + FILL + " ".join(TOPICS.values()).split()
    t = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
    t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tok = PreTrainedTokenizerFast(tokenizer_object=t, pad_token="[PAD]", unk_token="[UNK]")
    ds = raw.map(lambda b: tok(b["text"], return_token_type_ids=False), batched=True, desc="Running tokenizer on dataset")
    model = BertForSequenceClassification(BertConfig(vocab_size=len(words), hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                                                     intermediate_size=128, max_position_embeddings=32, num_labels=4))
    trainer = Trainer(model, args, train_dataset=ds["train"], eval_dataset=ds["validation"], processing_class=tok,
                      data_collator=DataCollatorWithPadding(tok), callbacks=[Throttle(data_args.delay)],
                      compute_metrics=lambda p: {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())})
    res = trainer.train()
    trainer.save_model()
    trainer.log_metrics("train", res.metrics)
    trainer.save_metrics("train", res.metrics)
    trainer.save_state()
    logger.info("*** Evaluate ***")
    metrics = trainer.evaluate()
    trainer.log_metrics("eval", metrics)
    trainer.save_metrics("eval", metrics)


main()
