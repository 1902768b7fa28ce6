"""Classement d'avis : recherche du taux d'apprentissage, puis entraînement."""
import copy
import logging
import time

import torch
from torch.utils.data import Dataset
from transformers import (BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments,
                          default_data_collator, set_seed)
from transformers.trainer_callback import PrinterCallback

logging.basicConfig(level=logging.INFO, format="%(asctime)s [%(levelname)s] %(message)s", datefmt="%H h %M min %S s")
journal = logging.getLogger("avis")


class Avis(Dataset):
    def __init__(self, n, graine):
        g = torch.Generator().manual_seed(graine)
        self.y = torch.randint(0, 5, (n,), generator=g)
        self.x = torch.randint(30, 300, (n, 20), generator=g)
        for k in range(4):
            self.x[:, 2 + 5 * k] = 5 + 5 * k + self.y

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return {"input_ids": self.x[i], "labels": self.y[i]}


def chercher_taux(modele, donnees, bas=1e-6, haut=30.0, essais=110):
    """Essai de Smith : le taux croît jusqu'à ce que la perte explose ; le modèle est ensuite remis à zéro."""
    depart = copy.deepcopy(modele.state_dict())
    opt = torch.optim.AdamW(modele.parameters(), lr=bas)
    lisse, meilleure, choix = None, float("inf"), bas
    for k in range(essais):
        taux = bas * (haut / bas) ** (k / (essais - 1))
        opt.param_groups[0]["lr"] = taux
        lot = default_data_collator([donnees[j] for j in torch.randint(len(donnees), (16,)).tolist()])
        perte = modele(**lot).loss
        perte.backward()
        opt.step()
        opt.zero_grad()
        time.sleep(0.1)
        lisse = perte.item() if lisse is None else 0.8 * lisse + 0.2 * perte.item()
        if lisse < meilleure:
            meilleure, choix = lisse, taux
        if k % 4 == 0 or lisse > 4 * meilleure:
            journal.info("essai %3d : taux %.2e perte %.4f", k, taux, perte.item())
        if k > 10 and lisse > 4 * meilleure:
            journal.info("la perte explose, fin de la recherche")
            break
    modele.load_state_dict(depart)
    return choix / 10


class Suivi(TrainerCallback):
    def on_step_end(self, *a, **k):
        time.sleep(0.1)

    def on_log(self, args, state, control, logs=None, **kw):
        if "loss" in logs:
            journal.info("pas %d/%d : perte %.4f", state.global_step, state.max_steps, logs["loss"])
        elif "eval_loss" in logs:
            journal.info("validation : perte %.4f", logs["eval_loss"])


def main():
    set_seed(9)
    modele = BertForSequenceClassification(BertConfig(vocab_size=300, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                                                      intermediate_size=128, max_position_embeddings=32, num_labels=5))
    donnees = Avis(2400, 1)
    taux = chercher_taux(modele, donnees)
    journal.info("taux retenu : %.2e ; début de l'entraînement", taux)
    args = TrainingArguments("sortie", num_train_epochs=2, per_device_train_batch_size=16, learning_rate=taux,
                             eval_strategy="epoch", save_strategy="no", logging_steps=15, use_cpu=True,
                             report_to="none", disable_tqdm=True, warmup_steps=10, dataloader_pin_memory=False)
    opt = torch.optim.AdamW(modele.parameters(), lr=taux)
    trainer = Trainer(modele, args, train_dataset=donnees, eval_dataset=Avis(320, 2), callbacks=[Suivi()], optimizers=(opt, None))
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    trainer.save_model("sortie/final")
    journal.info("terminé")


main()
