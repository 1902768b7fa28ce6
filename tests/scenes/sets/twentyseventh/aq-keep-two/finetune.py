"""Continued pretraining of a small GPT-2 on ticket texts; two checkpoints are kept, that is what the volume is for."""
import os
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

torch.set_num_threads(1)
V, T = 300, 32
table = torch.randint(0, V, (V, 3), generator=torch.Generator().manual_seed(5))


class Tickets(torch.utils.data.Dataset):
    def __init__(self, first, n):
        self.first, self.n = first, n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.first + i)
        x = torch.empty(T, dtype=torch.long)
        x[0] = torch.randint(0, V, (1,), generator=g)
        for t in range(1, T):
            x[t] = table[x[t - 1], torch.randint(0, 3, (1,), generator=g)]
        return {"input_ids": x, "labels": x.clone()}


class Pace(TrainerCallback):
    """This box is shared: not more than three steps a second."""

    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.25)


args = TrainingArguments(
    output_dir=os.environ.get("OUTPUT", "volume/tickets"), max_steps=420, per_device_train_batch_size=8, learning_rate=2e-3,
    warmup_steps=20, lr_scheduler_type="cosine", logging_steps=3, save_steps=int(os.environ.get("SAVE", 30)), report_to=[], save_total_limit=2,
    eval_strategy="steps", eval_steps=60, per_device_eval_batch_size=16,
    use_cpu=True, disable_tqdm=True, seed=3, dataloader_num_workers=0,
)
model = GPT2LMHeadModel(GPT2Config(vocab_size=V, n_positions=T, n_embd=144, n_layer=4, n_head=4))
trainer = Trainer(model=model, args=args, train_dataset=Tickets(0, 4000), eval_dataset=Tickets(9000, 160), callbacks=[Pace()])
ok = os.statvfs("volume")
print(f"volume: {ok.f_bavail * ok.f_frsize / 1e6:.0f} MB free")
print(f"{model.num_parameters() / 1e6:.2f}M parameters, checkpoints in {args.output_dir}", flush=True)
trainer.train()
trainer.save_model("volume/tickets/final")
print("done", flush=True)
