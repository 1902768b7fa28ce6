import time

import optuna
import torch
from torch import nn

g = torch.Generator().manual_seed(0)
X = torch.randn(600, 16, generator=g)
Y = ((X[:, 0] + X[:, 1]).tanh() + X[:, 4].sin() + 0.1 * torch.randn(600, generator=g)).unsqueeze(1)
TX, TY, VX, VY = X[:480], Y[:480], X[480:], Y[480:]


def objective(trial):
    lr = trial.suggest_float("lr", 1e-4, 0.6, log=True)
    width = trial.suggest_categorical("width", [8, 16, 32, 64])
    act = trial.suggest_categorical("act", ["ReLU", "Tanh", "SiLU"])
    torch.manual_seed(trial.number)
    net = nn.Sequential(nn.Linear(16, width), getattr(nn, act)(), nn.Linear(width, 1))
    opt = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.8)
    for epoch in range(12):
        for i in range(0, len(TX), 60):
            loss = nn.functional.mse_loss(net(TX[i : i + 60]), TY[i : i + 60])
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 5.0)
            opt.step()
            time.sleep(0.025)
        with torch.no_grad():
            val = nn.functional.mse_loss(net(VX), VY).item()
        trial.report(val, epoch)
        if trial.should_prune():
            raise optuna.TrialPruned()
    return val


study = optuna.create_study(
    study_name="mlp-small",
    sampler=optuna.samplers.TPESampler(seed=5, n_startup_trials=6),
    pruner=optuna.pruners.MedianPruner(n_startup_trials=4, n_warmup_steps=2),
)
study.optimize(objective, n_trials=26)
pruned = sum(t.state.name == "PRUNED" for t in study.trials)
print(f"{len(study.trials)} trials, {pruned} pruned, best {study.best_value:.4f}: {study.best_params}")
