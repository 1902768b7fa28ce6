"""Suche nach guten Einstellungen für das Betrugsmodell: optuna über einem skorch-Netz."""
import time

import numpy as np
import optuna
import torch
from skorch import NeuralNetClassifier
from skorch.callbacks import Callback
from torch import nn

COLUMNS = 32


class Net(nn.Module):
    def __init__(self, width=24, drop=0.1):
        super().__init__()
        self.seq = nn.Sequential(nn.Linear(COLUMNS, width), nn.ReLU(), nn.Dropout(drop), nn.Linear(width, 2))

    def forward(self, x):
        return self.seq(x)


class Pause(Callback):
    def on_epoch_end(self, net, **kw):
        time.sleep(0.5)


def objective(trial):
    time.sleep(0.8)  # Tabelle vom Speicher holen
    with np.load("features.npz") as z:
        x, y = z["x"], z["y"]
    print(f"Versuch {trial.number}: Tabelle {x.shape[0]} x {x.shape[1]} gelesen", flush=True)
    net = NeuralNetClassifier(
        Net, module__width=trial.suggest_int("width", 8, 48), module__drop=trial.suggest_float("drop", 0.0, 0.4),
        lr=trial.suggest_float("lr", 0.01, 0.5, log=True), max_epochs=8, criterion=nn.CrossEntropyLoss,
        optimizer=torch.optim.SGD, optimizer__momentum=0.9, batch_size=64, callbacks=[Pause()], verbose=0,
    )
    net.fit(x, y)
    acc = max(net.history[:, "valid_acc"])
    net.save_params(f_params=f"modell_{trial.number:02d}.pt")
    print(f"Versuch {trial.number}: Trefferquote {acc:.4f}, gesichert modell_{trial.number:02d}.pt", flush=True)
    return acc


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    study = optuna.create_study(study_name="betrug", storage="sqlite:///study.db", direction="maximize", load_if_exists=True,
                                sampler=optuna.samplers.TPESampler(seed=3))
    # ein Absturz einzelner Versuche soll die Nacht nicht kosten
    study.optimize(objective, n_trials=60, catch=(Exception,))
    print(f"fertig: {len(study.trials)} Versuche, bester {study.best_value:.4f}", flush=True)
