"""Supervised fine-tuning of a small GPT-2 on chat pairs, prompt tokens masked."""
import random
import time

import torch
from torch.utils.data import Dataset, SequentialSampler
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

MAX_LEN = 64
VOCAB = 96
random.seed(7)
torch.manual_seed(7)


def enc(text):
    return [min(max(ord(c) - 32, 0), VOCAB - 1) for c in text]


def pair(source):
    a, b = random.randint(1, 40), random.randint(1, 40)
    if source == "short":
        return f"user: what is {a}+{b}?\nbot: ", f"{a}+{b}={a + b}."
    ctx = " ".join(f"[{i}] item {random.randint(0, 99)};" for i in range(9))
    return f"context: {ctx}\nuser: item {a % 9}?\nbot: ", f"item {a % 9} is above."


class Chat(Dataset):
    """Pairs in the order of the mix: short answers first, then retrieval-augmented ones."""

    def __init__(self, n_short, n_rag):
        self.rows = [pair("short") for _ in range(n_short)] + [pair("rag") for _ in range(n_rag)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        p, r = map(enc, self.rows[i])
        ids = (p + r)[:MAX_LEN]
        labels = ([-100] * len(p) + r)[:MAX_LEN]
        pad = MAX_LEN - len(ids)
        return {
            "input_ids": torch.tensor(ids + [0] * pad),
            "attention_mask": torch.tensor([1] * len(ids) + [0] * pad),
            "labels": torch.tensor(labels + [-100] * pad),
        }


class Pace(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.28)


class SftTrainer(Trainer):
    def _get_train_sampler(self, *a, **k):
        return SequentialSampler(self.train_dataset)

    def compute_loss(self, model, inputs, return_outputs=False, **kw):
        """Mean over answer tokens; the last token of an answer counts double."""
        labels = inputs.pop("labels")
        out = model(**inputs)
        target = labels[:, 1:]
        mask = (target != -100).float()
        weight = mask * (1 + (target == ord(".") - 32).float())
        logp = out.logits[:, :-1].log_softmax(-1)
        tok = logp.gather(-1, target.clamp(min=0).unsqueeze(-1)).squeeze(-1)
        loss = -(tok * weight).sum() / weight.sum()
        return (loss, out) if return_outputs else loss


def main():
    cfg = GPT2Config(vocab_size=VOCAB, n_positions=MAX_LEN, n_embd=64, n_layer=2, n_head=2)
    model = GPT2LMHeadModel(cfg)
    args = TrainingArguments(
        output_dir="out", per_device_train_batch_size=8, max_steps=420, learning_rate=1e-3,
        logging_steps=5, save_steps=50, save_total_limit=2, report_to=[], disable_tqdm=True,
        use_cpu=True, seed=7, warmup_steps=20,
    )
    data = Chat(8 * 170, 8 * 250)
    print(f"sft: {len(data)} pairs, {sum(p.numel() for p in model.parameters())} parameters", flush=True)
    trainer = SftTrainer(model=model, args=args, train_dataset=data, callbacks=[Pace()])
    trainer.train()
    trainer.save_model("out/final")
    print("sft: saved out/final", flush=True)


if __name__ == "__main__":
    main()
