import time

import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

torch.set_num_threads(1)
set_seed(0)


class Corpus(torch.utils.data.Dataset):
    """Fixed windows of a token stream."""

    def __init__(self, tokens, width=48):
        self.rows = tokens[: len(tokens) // width * width].reshape(-1, width)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        time.sleep(0.035)
        row = torch.from_numpy(self.rows[i])
        return {"input_ids": row, "labels": row.clone()}


def stream(n, vocab, seed):
    rng = np.random.default_rng(seed)
    nxt = rng.integers(0, vocab, (vocab, 3))
    out = np.zeros(n, dtype=np.int64)
    for i in range(1, n):
        out[i] = nxt[out[i - 1], rng.integers(0, 3)]
    return out


if __name__ == "__main__":
    cfg = GPT2Config(vocab_size=2000, n_positions=64, n_embd=128, n_layer=4, n_head=4, bos_token_id=0, eos_token_id=0)
    model = GPT2LMHeadModel(cfg)
    print(f"params: {model.num_parameters() / 1e6:.2f}M")
    tokens = stream(120_000, 2000, 4)
    args = TrainingArguments(
        output_dir="/".join(["scratch", "gpt2-nano"]), per_device_train_batch_size=4, max_steps=400,
        learning_rate=1e-3, warmup_steps=20, logging_steps=10, save_steps=50, report_to=[], use_cpu=True,
        dataloader_pin_memory=False)
    trainer = Trainer(model=model, args=args, train_dataset=Corpus(tokens[:-4800]), eval_dataset=Corpus(tokens[-4800:]))
    trainer.train()
    trainer.save_model("scratch/gpt2-nano/final")
