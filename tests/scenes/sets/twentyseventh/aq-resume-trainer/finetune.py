"""Fine-tuning on support mails with the Trainer. --resume goes on from the newest checkpoint; the first evening ends at step 90."""
import sys
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments, set_seed

resume = "--resume" in sys.argv
set_seed(21)
torch.set_num_threads(1)
V, T = 240, 32
table = torch.randint(0, V, (V, 3), generator=torch.Generator().manual_seed(8))


class Mails(torch.utils.data.Dataset):
    """Read and tokenised when they are asked for, which takes its time."""

    def __len__(self):
        return 3600

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        x = [int(torch.randint(0, V, (1,), generator=g))]
        for k in torch.randint(0, 3, (T - 1,), generator=g).tolist():
            x.append(int(table[x[-1], k]))
        time.sleep(0.03 if resume else 0)
        return {"input_ids": torch.tensor(x), "labels": torch.tensor(x)}


class Evening(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        if resume:
            time.sleep(0.08)
        elif state.global_step == 90:
            control.should_training_stop = True


args = TrainingArguments(
    output_dir="mails", max_steps=420, per_device_train_batch_size=8, learning_rate=2e-3, warmup_steps=15, logging_steps=2,
    save_steps=30, save_total_limit=2, report_to=[], use_cpu=True, disable_tqdm=True,
)
model = GPT2LMHeadModel(GPT2Config(vocab_size=V, n_positions=T, n_embd=96, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0))
trainer = Trainer(model=model, args=args, train_dataset=Mails(), callbacks=[Evening()])
print("resuming from the newest checkpoint in mails/" if resume else "first evening, until step 90", flush=True)
trainer.train(resume_from_checkpoint=resume or None)
if resume:
    trainer.save_model("mails/final")
print("finished" if resume else "that is it for today", flush=True)
