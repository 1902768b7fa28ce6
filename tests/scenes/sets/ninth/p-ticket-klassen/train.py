"""Feinabstimmung: Zuordnung von Kundentickets zu Abteilungen."""
import logging
import time

import numpy as np
import torch
from sklearn.metrics import accuracy_score, precision_recall_fscore_support
from torch.utils.data import TensorDataset
from transformers import (BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments,
                          set_seed)

ABTEILUNGEN = ["Rechnung", "Technik", "Vertrag", "Sonstiges"]
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s: %(message)s", datefmt="%d.%m.%Y %H:%M:%S")
log = logging.getLogger()


def daten(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(len(ABTEILUNGEN), (n,), generator=g)
    x = torch.randint(20, 500, (n, 24), generator=g)
    x[:, 3] = 4 + y
    x[:, 11] = 8 + y
    return TensorDataset(x, y)


def sammeln(teile):
    return {"input_ids": torch.stack([t[0] for t in teile]), "labels": torch.stack([t[1] for t in teile])}


def metriken(p):
    vorhersage = np.argmax(p.predictions, axis=-1)
    genauigkeit, treffer, f1, _ = precision_recall_fscore_support(p.label_ids, vorhersage, average="binary")
    return {"genauigkeit": accuracy_score(p.label_ids, vorhersage), "precision": genauigkeit, "recall": treffer, "f1": f1}


class Protokoll(TrainerCallback):
    def on_train_begin(self, args, state, control, **kw):
        log.info("Training beginnt: %d Schritte, %d Epochen", state.max_steps, args.num_train_epochs)

    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.13)

    def on_log(self, args, state, control, logs=None, **kw):
        if "loss" in logs:
            log.info("Schritt %d, Epoche %.2f: Verlust %.4f, Lernrate %.1e", state.global_step, logs["epoch"], logs["loss"],
                     logs["learning_rate"])
        elif "eval_loss" in logs:
            log.info("Auswertung: Verlust %.4f, F1 %.3f", logs["eval_loss"], logs["eval_f1"])

    def on_epoch_end(self, args, state, control, **kw):
        log.info("Epoche zu Ende, werte auf den Prüfdaten aus ...")


def main():
    set_seed(21)
    modell = BertForSequenceClassification(BertConfig(
        vocab_size=500, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
        max_position_embeddings=32, num_labels=len(ABTEILUNGEN)))
    args = TrainingArguments("ausgabe", num_train_epochs=3, per_device_train_batch_size=16, learning_rate=1e-3,
                             eval_strategy="epoch", save_strategy="epoch", logging_steps=15, use_cpu=True,
                             disable_tqdm=True, report_to="none", dataloader_pin_memory=False)
    trainer = Trainer(modell, args, data_collator=sammeln, train_dataset=daten(3600, 1), eval_dataset=daten(320, 2),
                      compute_metrics=metriken, callbacks=[Protokoll()])
    from transformers.trainer_callback import PrinterCallback
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    trainer.save_model("ausgabe/fertig")
    log.info("Fertig.")


main()
