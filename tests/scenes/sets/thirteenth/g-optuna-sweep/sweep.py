import json
import math
import time

import optuna
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)
X = torch.randn(512, 10)
Y = torch.sin(X[:, :1]) + 0.5 * X[:, 1:2] ** 2


def objective(trial):
    lr = trial.suggest_float("lr", 1e-4, 30.0, log=True)
    width = trial.suggest_categorical("width", [16, 32, 64])
    momentum = trial.suggest_float("momentum", 0.0, 0.95)
    torch.manual_seed(trial.number)
    net = nn.Sequential(nn.Linear(10, width), nn.ReLU(), nn.Linear(width, 1))
    opt = torch.optim.SGD(net.parameters(), lr=lr, momentum=momentum)
    for epoch in range(12):
        for at in range(0, 448, 64):
            loss = nn.functional.mse_loss(net(X[at : at + 64]), Y[at : at + 64])
            opt.zero_grad()
            loss.backward()
            opt.step()
            time.sleep(0.04)
        valid = nn.functional.mse_loss(net(X[448:]), Y[448:]).item()
        print(f"trial {trial.number:2d} epoch {epoch:2d} valid_loss {valid:.4g}")
        if not math.isfinite(valid):
            raise optuna.TrialPruned(f"valid_loss is {valid}")
        trial.report(valid, epoch)
        if trial.should_prune():
            raise optuna.TrialPruned()
    return valid


study = optuna.create_study(direction="minimize", study_name="edges", sampler=optuna.samplers.RandomSampler(seed=12),
                            pruner=optuna.pruners.MedianPruner(n_startup_trials=4, n_warmup_steps=3))
study.optimize(objective, n_trials=24)
states = [t.state.name for t in study.trials]
print("trials:", {s: states.count(s) for s in set(states)})
json.dump({"value": study.best_value, **study.best_params}, open("best.json", "w"))
print("best:", study.best_value, study.best_params)
