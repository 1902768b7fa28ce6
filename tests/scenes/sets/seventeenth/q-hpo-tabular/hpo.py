"""ASHA-artige Suche nach der Lernrate; schlechte Versuche werden früh verworfen."""
import logging
import math
import sys
import time

import optuna
import torch
from torch import nn

torch.set_num_threads(1)
optuna.logging.set_verbosity(optuna.logging.WARNING)
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="[%(asctime)s] %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger("hpo")
g = torch.Generator().manual_seed(3)
X = torch.randn(1500, 20, generator=g)
Y = (X[:, :5].sum(1, keepdim=True) + 0.3 * torch.randn(1500, 1, generator=g))


def versuch(trial):
    lr = trial.suggest_float("lr", 1e-4, 3.0, log=True)
    breite = trial.suggest_categorical("breite", [16, 32, 64])
    torch.manual_seed(trial.number)
    netz = nn.Sequential(nn.Linear(20, breite), nn.ReLU(), nn.Linear(breite, 1))
    opt = torch.optim.SGD(netz.parameters(), lr, momentum=0.9)
    log.info("Versuch %d: lr=%.5f breite=%d", trial.number, lr, breite)
    for epoche in range(8):
        for k in range(0, 1200, 150):
            verlust = nn.functional.mse_loss(netz(X[k:k + 150]), Y[k:k + 150])
            opt.zero_grad()
            verlust.backward()
            opt.step()
            time.sleep(0.05)
        with torch.no_grad():
            guete = nn.functional.mse_loss(netz(X[1200:]), Y[1200:]).item()
        log.info("Versuch %d Epoche %d: mse=%.4f", trial.number, epoche, guete)
        if not math.isfinite(guete):
            log.info("Versuch %d verworfen (divergiert)", trial.number)
            raise optuna.TrialPruned
        trial.report(guete, epoche)
        if trial.should_prune():
            log.info("Versuch %d verworfen (schlechter als der Median)", trial.number)
            raise optuna.TrialPruned
    return guete


suche = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=7),
                            pruner=optuna.pruners.MedianPruner(n_startup_trials=3, n_warmup_steps=1))
suche.optimize(versuch, n_trials=22)
zahl = {s.name: sum(t.state == s for t in suche.trials) for s in optuna.trial.TrialState}
log.info("Ende: %s, bester Wert %.4f mit %s", zahl, suche.best_value, suche.best_params)
