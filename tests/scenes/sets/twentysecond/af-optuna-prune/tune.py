"""Sucht Lernrate und Breite für das Drehmoment-Modell; Median-Pruner, NaN-Läufe zählen als Fehlversuch."""
import time

import optuna
import torch
import torch.nn as nn

torch.set_num_threads(1)
torch.manual_seed(0)
X = torch.randn(512, 10)
Y = (X[:, :1] * X[:, 1:2] + X[:, 2:3].sin())


def objective(trial):
    torch.manual_seed(trial.number)
    lr = trial.suggest_float("lr", 1e-3, 3.0, log=True)
    w = trial.suggest_int("breite", 8, 64)
    net = nn.Sequential(nn.Linear(10, w), nn.ReLU(), nn.Linear(w, w), nn.ReLU(), nn.Linear(w, 1))
    opt = torch.optim.SGD(net.parameters(), lr, momentum=0.9)
    for epoch in range(8):
        for i in range(0, 512, 64):
            loss = nn.functional.mse_loss(net(X[i:i + 64]), Y[i:i + 64])
            opt.zero_grad()
            loss.backward()
            opt.step()
        time.sleep(0.3)
        value = nn.functional.mse_loss(net(X), Y).item()
        if value != value:
            return value
        trial.report(value, epoch)
        if trial.should_prune():
            raise optuna.TrialPruned()
    return value


study = optuna.create_study(study_name="drehmoment", pruner=optuna.pruners.MedianPruner(n_startup_trials=4, n_warmup_steps=2),
                            sampler=optuna.samplers.TPESampler(seed=6))
study.optimize(objective, n_trials=50)
fertig = [t for t in study.trials if t.state == optuna.trial.TrialState.COMPLETE]
print(f"{len(study.trials)} Versuche, {len(fertig)} vollständig, bester Wert {study.best_value:.4f} mit {study.best_params}")
