import os
os.environ["OMP_NUM_THREADS"] = "1"
import time
import numpy as np
import optuna
from sklearn.datasets import make_classification
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
import torch
from torch import nn

torch.set_num_threads(1)
X, y = make_classification(900, 16, n_informative=8, n_redundant=4, flip_y=0.06, random_state=4)
Xa, Xb, ya, yb = train_test_split(X, y, random_state=0)
sc = StandardScaler().fit(Xa)
Xa, Xb = [torch.as_tensor(sc.transform(q), dtype=torch.float32) for q in (Xa, Xb)]
ya, yb = map(torch.as_tensor, (ya, yb))


def objective(trial):
    torch.manual_seed(trial.number)
    width = trial.suggest_int("width", 4, 128, log=True)
    lr = trial.suggest_float("lr", 1e-4, 3e3, log=True)
    act = trial.suggest_categorical("act", ["relu", "exp", "tanh"])
    heads = trial.suggest_categorical("heads", [1, 2])

    class Exp(nn.Module):
        def forward(self, x):
            return torch.exp(x)

    if width % heads:
        raise ValueError(f"width {width} is not divisible by heads {heads}")
    net = nn.Sequential(nn.Linear(16, width), dict(relu=nn.ReLU, exp=Exp, tanh=nn.Tanh)[act](), nn.Unflatten(1, (heads, width // heads)), nn.Flatten(), nn.Linear(width, 2))
    opt = torch.optim.SGD(net.parameters(), lr=lr)
    for ep in range(8):
        for idx in torch.randperm(len(Xa)).split(64):
            loss = nn.functional.cross_entropy(net(Xa[idx]), ya[idx])
            opt.zero_grad(); loss.backward(); opt.step()
        time.sleep(0.3)
        with torch.no_grad():
            v = nn.functional.cross_entropy(net(Xb), yb).item()
        trial.report(v, ep)
        if trial.should_prune():
            raise optuna.TrialPruned()
    return v


if __name__ == "__main__":
    study = optuna.create_study(study_name="night", storage="sqlite:///night.db", direction="minimize", sampler=optuna.samplers.TPESampler(seed=1, n_startup_trials=12),
                                pruner=optuna.pruners.MedianPruner(n_startup_trials=4, n_warmup_steps=2))
    study.optimize(objective, n_trials=32, catch=(ValueError, FloatingPointError))
    states = [t.state.name for t in study.trials]
    print({s: states.count(s) for s in sorted(set(states))})
    print("best value %.4f with %s" % (study.best_value, study.best_params))
