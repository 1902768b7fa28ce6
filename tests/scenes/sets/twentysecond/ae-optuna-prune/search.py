"""Learning rate and width of a small denoising autoencoder; bad trials are pruned early."""
import time

import optuna
import torch
from torch import nn

torch.set_num_threads(1)
g = torch.Generator().manual_seed(0)
X = torch.randn(512, 4, generator=g) @ torch.randn(4, 24, generator=g)


def objective(trial):
    lr = trial.suggest_float("lr", 1e-4, 3.0, log=True)
    width = trial.suggest_int("width", 8, 64, log=True)
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(24, width), nn.ReLU(), nn.Linear(width, 24))
    opt = torch.optim.Adam(net.parameters(), lr=lr)
    for epoch in range(8):
        for i in range(0, 512, 64):
            x = X[i:i + 64]
            loss = ((net(x + 0.3 * torch.randn_like(x)) - x) ** 2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            time.sleep(0.2)
        print(f"trial {trial.number} epoch {epoch} lr {lr:.2g} width {width} loss {loss.item():.4f}", flush=True)
        trial.report(loss.item(), epoch)
        if trial.should_prune():
            raise optuna.TrialPruned()
    return loss.item()


study = optuna.create_study(study_name="dae", storage="sqlite:///search.db", load_if_exists=True, direction="minimize",
                            sampler=optuna.samplers.TPESampler(seed=3),
                            pruner=optuna.pruners.MedianPruner(n_startup_trials=2, n_warmup_steps=1))
study.optimize(objective, n_trials=12)
print("best", study.best_value, study.best_params, flush=True)
