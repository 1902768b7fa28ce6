import argparse
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments, set_seed


class Tokens(torch.utils.data.Dataset):
    """Order-1 Markov text, so that there is something to learn."""

    def __init__(self, n=4000, length=32, vocab=1500):
        g = torch.Generator().manual_seed(0)
        follow = torch.randint(0, vocab, (vocab, 4), generator=g)
        x = torch.empty(n, length, dtype=torch.long)
        x[:, 0] = torch.randint(0, vocab, (n,), generator=g)
        for t in range(1, length):
            x[:, t] = follow[x[:, t - 1], torch.randint(0, 4, (n,), generator=g)]
        self.x = x

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"input_ids": self.x[i], "labels": self.x[i]}


class Pace(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.12)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--output_dir", required=True)
    ap.add_argument("--max_steps", type=int, default=1000)
    a = ap.parse_args()
    set_seed(42)
    torch.set_num_threads(1)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=1500, n_positions=32, n_embd=64, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0))
    print(f"model: {model.num_parameters() / 1e6:.2f}M parameters", flush=True)
    args = TrainingArguments(
        output_dir=a.output_dir, max_steps=a.max_steps, per_device_train_batch_size=4, learning_rate=2e-3,
        warmup_steps=20, logging_steps=10, save_strategy="steps", save_steps=40, report_to="none", use_cpu=True,
        dataloader_num_workers=0, dataloader_pin_memory=False,
    )
    Trainer(model=model, args=args, train_dataset=Tokens(), callbacks=[Pace()]).train()
    model.save_pretrained(a.output_dir + "/final")


if __name__ == "__main__":
    main()
