import math
import time
import warnings

import numpy as np
import optuna

optuna.logging.set_verbosity(optuna.logging.INFO)


def objective(trial):
    lr = trial.suggest_float("lr", 1e-3, 20.0, log=True)
    width = trial.suggest_categorical("width", [8, 16, 32])
    rng = np.random.default_rng(trial.number)
    w1 = rng.normal(size=(6, width)) / 2.5
    w2 = rng.normal(size=(width, 1)) / math.sqrt(width)
    with np.errstate(all="ignore"):
        for step in range(1, 61):
            x = rng.normal(size=(48, 6))
            y = np.sin(x[:, :1]) + x[:, 1:2]
            h = np.maximum(x @ w1, 0)
            err = h @ w2 - y
            g = 2 * err / len(x)
            g1 = x.T @ ((g @ w2.T) * (h > 0))
            w2 -= lr * h.T @ g
            w1 -= lr * g1
            loss = float(np.mean(err**2))
            time.sleep(0.06)
            if step % 10 == 0:
                print(f"  trial {trial.number} step {step}/60 loss {loss:.4g}", flush=True)
                if not math.isfinite(loss):
                    print(f"  trial {trial.number} diverged at lr={lr:.3g}, giving it up", flush=True)
                    raise optuna.TrialPruned()
                trial.report(loss, step)
                if trial.should_prune():
                    raise optuna.TrialPruned()
    return loss


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    study = optuna.create_study(
        study_name="width-lr", direction="minimize",
        sampler=optuna.samplers.TPESampler(seed=8), pruner=optuna.pruners.MedianPruner(n_startup_trials=3, n_warmup_steps=10),
    )
    study.optimize(objective, n_trials=24)
    states = [t.state.name for t in study.trials]
    print(f"{states.count('COMPLETE')} complete, {states.count('PRUNED')} pruned; best {study.best_value:.4f} with {study.best_params}")
