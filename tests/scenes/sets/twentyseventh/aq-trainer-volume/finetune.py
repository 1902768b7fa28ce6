"""Fine-tuning of a small GPT-2 with the Hugging Face Trainer. Checkpoints go to the volume."""
import os
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

torch.set_num_threads(1)
V, T = 300, 32
table = torch.randint(0, V, (V, 3), generator=torch.Generator().manual_seed(5))


class Notes(torch.utils.data.Dataset):
    def __len__(self):
        return 4000

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
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
    output_dir=os.environ.get("OUTPUT", "volume/notes-gpt2"), max_steps=480, per_device_train_batch_size=8, learning_rate=2e-3,
    warmup_steps=20, lr_scheduler_type="cosine", logging_steps=2, save_steps=int(os.environ.get("SAVE", 40)), report_to=[],
    use_cpu=True, disable_tqdm=True, seed=3, dataloader_num_workers=0,
)
model = GPT2LMHeadModel(GPT2Config(vocab_size=V, n_positions=T, n_embd=144, n_layer=4, n_head=4))
trainer = Trainer(model=model, args=args, train_dataset=Notes(), callbacks=[Pace()])
print(f"{model.num_parameters() / 1e6:.2f}M parameters, checkpoints in {args.output_dir}", flush=True)
trainer.train()
trainer.save_model("volume/notes-gpt2/final")
print("done", flush=True)
