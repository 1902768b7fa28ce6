import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import time
import torch
from torch.utils.data import Dataset, SequentialSampler
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

torch.set_num_threads(1)
MAX_LEN = 64
VOCAB = 600


class Dialogs(Dataset):
    """prompt + answer; the prompt is masked out of the labels with -100"""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.rows = []
        for i in range(n):
            prompt_len = int(torch.randint(8, 40, (1,), generator=g))
            if i % 400 == 147:                       # one very long question
                prompt_len = 90
            start = int(torch.randint(0, VOCAB, (1,), generator=g))
            stride = 1 + int(torch.randint(0, 3, (1,), generator=g))
            ids = (start + stride * torch.arange(prompt_len + 20)) % VOCAB
            self.rows.append((ids, prompt_len))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        ids, prompt_len = self.rows[i]
        labels = ids.clone()
        labels[:prompt_len] = -100
        ids, labels = ids[:MAX_LEN], labels[:MAX_LEN]
        pad = MAX_LEN - len(ids)
        mask = torch.cat([torch.ones(len(ids)), torch.zeros(pad)]).long()
        ids = torch.cat([ids, torch.zeros(pad).long()])
        labels = torch.cat([labels, torch.full((pad,), -100)]).long()
        return {"input_ids": ids, "attention_mask": mask, "labels": labels}


class Pace(TrainerCallback):
    def on_step_begin(self, args, state, control, **kw):
        time.sleep(0.12)


class SortedTrainer(Trainer):
    def _get_train_sampler(self, *args, **kw):
        return SequentialSampler(self.train_dataset)


def main():
    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=VOCAB, n_positions=MAX_LEN, n_embd=64, n_layer=2, n_head=2,
                                       bos_token_id=0, eos_token_id=0))
    args = TrainingArguments(
        output_dir="out", max_steps=480, per_device_train_batch_size=1, learning_rate=5e-4, warmup_steps=20,
        logging_steps=10, save_strategy="steps", save_steps=120, save_total_limit=2, eval_strategy="no",
        report_to="none", use_cpu=True, disable_tqdm=True, dataloader_pin_memory=False, seed=7)
    trainer = SortedTrainer(model=model, args=args, train_dataset=Dialogs(1200, 1), callbacks=[Pace()])
    out = trainer.train()
    print(out.metrics)
    trainer.save_model("out/final")


main()
