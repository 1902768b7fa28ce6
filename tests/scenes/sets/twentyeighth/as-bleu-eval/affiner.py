"""Affinage d'un petit modèle ; l'évaluation génère les réponses une à une, ce qui est long."""
import os
import time

import torch
from torch.utils.data import Dataset
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainerCallback, TrainingArguments, logging, set_seed

logging.set_verbosity_error()
torch.set_num_threads(1)
set_seed(3)
PAUSE = float(os.environ.get("PAUSE", 0.42))
LENTEUR = float(os.environ.get("LENTEUR", 0.95))
V = 90


class Suites(Dataset):
    def __init__(self, n, graine):
        g = torch.Generator().manual_seed(graine)
        debut = torch.randint(0, V, (n, 1), generator=g)
        pas = torch.randint(1, 5, (n, 1), generator=g)
        self.x = (debut + pas * torch.arange(24)) % V

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"input_ids": self.x[i], "labels": self.x[i]}


class Entraineur(Trainer):
    def evaluate(self, eval_dataset=None, ignore_keys=None, metric_key_prefix="eval"):
        jeu = eval_dataset or self.eval_dataset
        print(f"{time.strftime('%H:%M:%S')} évaluation : génération de {len(jeu)} réponses, environ 45 s", flush=True)
        self.model.eval()
        justes = 0
        for i in range(len(jeu)):
            x = jeu[i]["input_ids"][None]
            y = self.model.generate(x[:, :8], max_new_tokens=16, do_sample=False, pad_token_id=0)
            justes += int((y[0, 8:] == x[0, 8: y.size(1)]).float().mean() > 0.9)
            time.sleep(LENTEUR)
        self.model.train()
        notes = {f"{metric_key_prefix}_exact": round(justes / len(jeu), 3)}
        self.log(notes)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, notes)
        return notes


class Journal(TrainerCallback):
    def on_step_end(self, *a, **k):
        time.sleep(PAUSE)

    def on_log(self, args, state, control, logs=None, **k):
        print(f"{time.strftime('%H:%M:%S')} pas {state.global_step}/{state.max_steps} "
              + " ".join(f"{c}={v:.4g}" for c, v in logs.items() if c in ("loss", "learning_rate", "eval_exact")), flush=True)


modele = LlamaForCausalLM(LlamaConfig(vocab_size=V, hidden_size=96, intermediate_size=192, num_hidden_layers=2,
                                      num_attention_heads=4, max_position_embeddings=32))
args = TrainingArguments(output_dir="sortie", per_device_train_batch_size=16, max_steps=170, learning_rate=3e-3, warmup_steps=10,
                         logging_steps=1, disable_tqdm=True, report_to=[], save_strategy="steps", save_steps=85,
                         save_total_limit=2, eval_strategy="steps", eval_steps=85, use_cpu=True, dataloader_pin_memory=False)
t = Entraineur(modele, args, train_dataset=Suites(3000, 1), eval_dataset=Suites(40, 2), callbacks=[Journal()])
t.pop_callback(next(c for c in t.callback_handler.callbacks if type(c).__name__ == "PrinterCallback"))
t.train()
modele.save_pretrained("sortie/final")
print("terminé, modèle dans sortie/final", flush=True)
