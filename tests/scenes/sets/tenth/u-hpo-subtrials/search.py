import argparse
import json
import math
import subprocess
import sys

import optuna

ap = argparse.ArgumentParser()
ap.add_argument("--trials", type=int, default=9)
a = ap.parse_args()
GRID = [{"lr": 0.05, "width": 32}, {"lr": 0.2, "width": 32}, {"lr": 28.0, "width": 64}, {"lr": 0.0004, "width": 16}]


def objective(trial):
    lr = trial.suggest_float("lr", 1e-4, 30.0, log=True)
    width = trial.suggest_categorical("width", [16, 32, 64])
    print(f"trial {trial.number}: start lr={lr:.5g} width={width}")
    p = subprocess.Popen([sys.executable, "-u", "one.py", "--lr", str(lr), "--width", str(width)],
                         stdout=subprocess.PIPE, text=True)
    best = math.inf
    for line in p.stdout:
        r = json.loads(line)
        print(f"trial {trial.number}: epoch {r['epoch']:>2} val_loss {r['val_loss']:.4f}")
        if not math.isfinite(r["val_loss"]):
            p.terminate()
            p.wait()
            print(f"trial {trial.number}: diverged, pruned (exit {p.returncode})")
            raise optuna.TrialPruned()
        best = min(best, r["val_loss"])
        trial.report(r["val_loss"], r["epoch"])
        if trial.should_prune():
            p.terminate()
            p.wait()
            print(f"trial {trial.number}: worse than the median, terminated (exit {p.returncode})")
            raise optuna.TrialPruned()
    if p.wait():
        raise RuntimeError(f"trial process ended with {p.returncode}")
    return best


study = optuna.create_study(direction="minimize", sampler=optuna.samplers.TPESampler(seed=4, n_startup_trials=4),
                            pruner=optuna.pruners.MedianPruner(n_startup_trials=2, n_warmup_steps=2))
for g in GRID:
    study.enqueue_trial(g)
study.optimize(objective, n_trials=a.trials)
states = [t.state.name for t in study.trials]
print({s: states.count(s) for s in sorted(set(states))})
print(f"best trial {study.best_trial.number}: val_loss {study.best_value:.4f} with {study.best_params}")
json.dump(study.best_params, open("best.json", "w"))
