"""Masked-language pretraining of a small ELECTRA-size BERT; checkpoints rotate on the fast scratch disk."""
import time

import torch
from transformers import BertConfig, BertForMaskedLM, Trainer, TrainerCallback, TrainingArguments

torch.set_num_threads(1)


class Tokens(torch.utils.data.Dataset):
    def __len__(self):
        return 4000

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        start = int(torch.randint(5, 40, (1,), generator=g))
        ids = (start + torch.arange(24) * (1 + start % 3)) % 120 + 5
        labels = torch.full((24,), -100)
        m = torch.rand(24, generator=g) < 0.2
        m[3] = True
        labels[m] = ids[m]
        ids = ids.clone()
        ids[m] = 4
        return {"input_ids": ids, "labels": labels, "attention_mask": torch.ones(24, dtype=torch.long)}


class Pace(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.25)

    def on_save(self, args, state, control, **kw):
        print(f"checkpoint-{state.global_step} saved to scratch", flush=True)


model = BertForMaskedLM(BertConfig(vocab_size=128, hidden_size=128, num_hidden_layers=2, num_attention_heads=4,
                                   intermediate_size=256, max_position_embeddings=32))
args = TrainingArguments("scratch/run", max_steps=280, per_device_train_batch_size=4, learning_rate=1e-3, logging_steps=10,
                         save_steps=35, save_total_limit=2, report_to=[], use_cpu=True, disable_tqdm=True)
Trainer(model=model, args=args, train_dataset=Tokens(), callbacks=[Pace()]).train()
