import random, time
import torch
from torch.utils.data import Dataset
from transformers import (EarlyStoppingCallback, GPT2Config, GPT2LMHeadModel, PrinterCallback, ProgressCallback, Trainer, TrainerCallback,
                          TrainingArguments, set_seed)

set_seed(5)
torch.set_num_threads(1)
random.seed(5)
WORDS = ["".join(random.choice("abcdefghij") for _ in range(random.randint(2, 6))) for _ in range(150)]


class Blocks(Dataset):
    """n random texts over the same words; few of them, so that the model soon knows them by heart."""

    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.rows = [torch.tensor(list((" ".join(rng.choice(WORDS) for _ in range(30))).encode()[:64])) for _ in range(n)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        time.sleep(0.015)
        return {"input_ids": self.rows[i], "labels": self.rows[i]}


class Lines(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kw):
        logs = {k: v for k, v in logs.items() if "per_second" not in k}
        print(f"{time.strftime('%H:%M:%S')} step {state.global_step:>4} " + " ".join(f"{k}={float(v):.4g}" for k, v in logs.items()), flush=True)

    def on_train_end(self, args, state, control, **kw):
        print(f"stopped at step {state.global_step} of {state.max_steps}, best eval_loss {state.best_metric:.4f} "
              f"({state.best_model_checkpoint})", flush=True)


model = GPT2LMHeadModel(GPT2Config(vocab_size=128, n_positions=64, n_embd=128, n_layer=2, n_head=4, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0,
                                   bos_token_id=0, eos_token_id=0))
args = TrainingArguments("ckpt", max_steps=2000, per_device_train_batch_size=8, per_device_eval_batch_size=16, learning_rate=3e-3,
                         lr_scheduler_type="constant_with_warmup", warmup_steps=10, logging_steps=10, eval_strategy="steps", eval_steps=20,
                         save_strategy="steps", save_steps=20, save_total_limit=2, load_best_model_at_end=True, metric_for_best_model="eval_loss",
                         greater_is_better=False, use_cpu=True, report_to="none", disable_tqdm=True, dataloader_pin_memory=False)
trainer = Trainer(model=model, args=args, train_dataset=Blocks(56, 1), eval_dataset=Blocks(40, 2),
                  callbacks=[EarlyStoppingCallback(early_stopping_patience=4), Lines()])
trainer.remove_callback(PrinterCallback)
trainer.train()
trainer.save_model("best")
print("best model is in ./best", flush=True)
