"""Instruction tuning on support tickets: loss on the answer tokens only, short tickets first."""
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.data import Dataset, SequentialSampler
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

MAX_LEN = 64
VOCAB = 320


class Tickets(Dataset):
    """prompt + answer, cut at MAX_LEN; prompt tokens carry label -100."""

    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        # tickets get longer and longer: greetings, questions, pasted log files
        prompt_len = np.sort(np.concatenate([
            rng.integers(6, 20, size=int(n * 0.25)),
            rng.integers(20, 56, size=int(n * 0.35)),
            rng.integers(70, 400, size=n - int(n * 0.25) - int(n * 0.35)),
        ]))
        self.rows = []
        for p in prompt_len:
            start = int(rng.integers(2, 200))
            prompt = (start + np.arange(p)) % (VOCAB - 2) + 2
            answer = (start + 3 * np.arange(rng.integers(6, 24))) % (VOCAB - 2) + 2
            ids = np.concatenate([prompt, answer])[:MAX_LEN]
            labels = np.concatenate([np.full(p, -100), answer])[:MAX_LEN]
            pad = MAX_LEN - len(ids)
            mask = np.concatenate([np.ones(len(ids)), np.zeros(pad)])
            ids = np.concatenate([ids, np.zeros(pad)])
            labels = np.concatenate([labels, np.full(pad, -100)])
            self.rows.append({
                "input_ids": torch.tensor(ids, dtype=torch.long),
                "attention_mask": torch.tensor(mask, dtype=torch.long),
                "labels": torch.tensor(labels, dtype=torch.long),
            })

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


class AnswerTrainer(Trainer):
    def _get_train_sampler(self, train_dataset=None):
        return SequentialSampler(self.train_dataset)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        out = model(**inputs)
        logits, target = out.logits[:, :-1], labels[:, 1:]
        token_loss = F.cross_entropy(logits.transpose(1, 2), target.clamp(min=0), reduction="none")
        mask = (target != -100).float()
        loss = (token_loss * mask).sum() / mask.sum()
        time.sleep(0.2)
        return (loss, out) if return_outputs else loss


def main():
    set_seed(11)
    torch.set_num_threads(1)
    config = GPT2Config(vocab_size=VOCAB, n_positions=MAX_LEN, n_embd=64, n_layer=2, n_head=2,
                        bos_token_id=1, eos_token_id=1)
    model = GPT2LMHeadModel(config)
    args = TrainingArguments(
        output_dir="out-support-sft",
        use_cpu=True,
        per_device_train_batch_size=4,
        num_train_epochs=1,
        learning_rate=1e-3,
        warmup_steps=10,
        logging_steps=5,
        save_steps=100,
        save_total_limit=2,
        report_to="none",
        dataloader_num_workers=0,
        seed=11,
    )
    trainer = AnswerTrainer(model=model, args=args, train_dataset=Tickets(1200, seed=5))
    print(f"***** {len(trainer.train_dataset)} tickets, max_len {MAX_LEN} *****")
    trainer.train()
    trainer.save_model("out-support-sft/final")
    print("model saved to out-support-sft/final")


if __name__ == "__main__":
    main()
