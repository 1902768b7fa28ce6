import time

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments


class Packed(Dataset):
    """Rows of token ids; a few documents were tokenised with the new vocabulary (three tokens more)."""

    def __init__(self, n=640, length=24, vocab=256):
        g = torch.Generator().manual_seed(5)
        start = torch.randint(0, vocab, (n, 1), generator=g)
        self.rows = (start + 5 * torch.arange(length)) % vocab
        self.rows[(2 * 50 + 1) * 4 + 2, 7] = vocab + 2

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return {"input_ids": self.rows[i], "labels": self.rows[i]}


class Pace(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.4)


def main():
    torch.manual_seed(0)
    cfg = GPT2Config(vocab_size=256, n_positions=32, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)
    args = TrainingArguments(
        output_dir="out", per_device_train_batch_size=4, num_train_epochs=2, learning_rate=1e-3, logging_steps=5,
        save_steps=40, report_to="none", use_cpu=True, ddp_backend="gloo", seed=3, train_sampling_strategy="sequential",
        dataloader_num_workers=0, ddp_find_unused_parameters=False)
    trainer = Trainer(model=GPT2LMHeadModel(cfg), args=args, train_dataset=Packed(), callbacks=[Pace()])
    trainer.train()
    trainer.save_model()


if __name__ == "__main__":
    main()
