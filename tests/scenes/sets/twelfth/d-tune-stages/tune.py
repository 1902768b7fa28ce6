import logging, sys, time, yaml, numpy as np, optuna, xgboost as xgb
optuna.logging.get_logger("optuna").handlers.clear()
optuna.logging.get_logger("optuna").addHandler(logging.StreamHandler(sys.stdout))
rng = np.random.default_rng(5); X = rng.normal(size=(1500, 10)); y = (X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(0, .7, 1500) > 0).astype(int)
tr, va = xgb.DMatrix(X[:1000], y[:1000]), xgb.DMatrix(X[1000:], y[1000:])
space = yaml.safe_load(open("space.yaml"))
study = optuna.create_study(direction="maximize", study_name="churn-propensity", sampler=optuna.samplers.TPESampler(seed=1))
for stage in ("stage1", "stage2"):
    s = space[stage]; print(f"=== {stage}: {s['trials']} trials", flush=True)
    def objective(t):
        p = {"objective": "binary:logistic", "eval_metric": "auc", "nthread": 1, "verbosity": 0,
             "subsample": t.suggest_float(f"subsample_{stage}", *s["subsample"]),
             "colsample_bytree": t.suggest_float(f"colsample_{stage}", *s["colsample_bytree"]),
             "max_depth": t.suggest_int(f"depth_{stage}", *s["max_depth"]), "eta": t.suggest_float(f"eta_{stage}", *s["eta"], log=True)}
        time.sleep(1.2); r = {}
        xgb.train(p, tr, 40, evals=[(va, "va")], evals_result=r, verbose_eval=False)
        return max(r["va"]["auc"])
    study.optimize(objective, n_trials=s["trials"], catch=(Exception,))
    done = [t for t in study.trials if t.state == optuna.trial.TrialState.COMPLETE]
    print(f"=== {stage} over, {len(done)} complete of {len(study.trials)}, best auc {study.best_value:.4f}", flush=True)
