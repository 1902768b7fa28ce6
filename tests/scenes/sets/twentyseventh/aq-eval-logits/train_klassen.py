"""Feinjustierung eines kleinen Sprachmodells; ausgewertet wird die Trefferquote des nächsten Wortes."""
import os
import time

import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

torch.set_num_threads(1)
V, T = 6000, 48


class Saetze(torch.utils.data.Dataset):
    def __init__(self, erste, n):
        self.erste, self.n = erste, n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.erste + i)
        start, schritt = torch.randint(0, 40, (1,), generator=g), torch.randint(1, 4, (1,), generator=g)
        x = (start + schritt * torch.arange(T)) % 190 * 31
        return {"input_ids": x, "labels": x.clone()}


class Meldung(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.25)

    def on_log(self, args, state, control, logs=None, **kw):
        if "loss" in logs:
            print(f"{time.strftime('%H:%M:%S')} Schritt {state.global_step}/{state.max_steps}: Verlust {float(logs['loss']):.4f}, "
                  f"Lernrate {float(logs['learning_rate']):.2e}", flush=True)

    def on_evaluate(self, args, state, control, **kw):
        print(f"{time.strftime('%H:%M:%S')} Auswertung fertig", flush=True)

    def on_train_begin(self, args, state, control, **kw):
        print(f"{time.strftime('%H:%M:%S')} Training beginnt, Auswertung alle {args.eval_steps} Schritte", flush=True)


def quote(p):
    return {"treffer": float((p.predictions[:, :-1].argmax(-1) == p.label_ids[:, 1:]).mean())}


args = TrainingArguments(
    output_dir="ausgabe", max_steps=450, per_device_train_batch_size=4, per_device_eval_batch_size=8, learning_rate=1e-3, warmup_steps=20,
    logging_steps=2, eval_strategy="steps", eval_steps=int(os.environ.get("EVAL", 180)), save_strategy="no", report_to=[],
    use_cpu=True, disable_tqdm=True,
)
modell = GPT2LMHeadModel(GPT2Config(vocab_size=V, n_positions=T, n_embd=64, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0))
trainer = Trainer(model=modell, args=args, train_dataset=Saetze(0, 4000), eval_dataset=Saetze(70000, 640), compute_metrics=quote,
                  callbacks=[Meldung()])
trainer.train()
trainer.save_model("ausgabe/endstand")
print("Training beendet", flush=True)
