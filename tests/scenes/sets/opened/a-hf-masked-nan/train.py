"""SFT of a small causal LM; the loss counts only the answer tokens."""
import random
import time

import torch
from torch.utils.data import IterableDataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

MAX_LEN = 48
VOCAB = 200


def conversations(n_short=480, n_long=4000):
    rng = random.Random(7)
    # the file is sorted by source: short chats first, then the long documents with a question about them
    for i in range(n_short + n_long):
        prompt_len = rng.randint(8, 24) if i < n_short else rng.randint(60, 90)
        start = rng.randint(1, 150)
        prompt = [(start + k) % VOCAB for k in range(prompt_len)]
        answer = [(start + prompt_len + k) % VOCAB for k in range(rng.randint(16, 24))]
        yield prompt, answer


class SFTData(IterableDataset):
    def __iter__(self):
        for prompt, answer in conversations():
            time.sleep(0.03)                                  # tokenising
            ids = prompt + answer
            labels = [-100] * len(prompt) + answer
            ids, labels = ids[:MAX_LEN], labels[:MAX_LEN]     # truncate on the right
            pad = MAX_LEN - len(ids)
            yield {
                "input_ids": torch.tensor(ids + [0] * pad),
                "labels": torch.tensor(labels + [-100] * pad),
                "attention_mask": torch.tensor([1] * len(ids) + [0] * pad),
            }


def main():
    set_seed(11)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=VOCAB, n_positions=MAX_LEN, n_embd=48, n_layer=2, n_head=2,
                                       bos_token_id=0, eos_token_id=0))
    args = TrainingArguments(
        output_dir="out", max_steps=320, per_device_train_batch_size=8, learning_rate=1e-3, warmup_steps=10,
        logging_steps=5, save_strategy="no", report_to="none", use_cpu=True,
    )
    Trainer(model=model, args=args, train_dataset=SFTData()).train()


if __name__ == "__main__":
    main()
