import time, numpy as np, optuna, xgboost as xgb
r = np.random.default_rng(6); X = r.normal(size=(1200, 12)); y = X[:, 0] * 2 + np.sin(X[:, 1] * 2) + r.normal(0, .4, 1200)
tr, va = xgb.DMatrix(X[:900], y[:900]), xgb.DMatrix(X[900:], y[900:])
class Prune(xgb.callback.TrainingCallback):
    def __init__(self, trial): self.trial = trial
    def after_iteration(self, model, epoch, evals_log):
        time.sleep(.05); self.trial.report(evals_log["va"]["rmse"][-1], epoch)
        if self.trial.should_prune(): raise optuna.TrialPruned(f"Trial was pruned at iteration {epoch}.")
        return False
def objective(t):
    p = {"eta": t.suggest_float("eta", .005, .4, log=True), "max_depth": t.suggest_int("max_depth", 1, 7), "lambda": t.suggest_float("lambda", 1e-3, 50, log=True), "nthread": 1}
    res = {}; xgb.train(p, tr, 50, evals=[(va, "va")], evals_result=res, verbose_eval=False, callbacks=[Prune(t)])
    return res["va"]["rmse"][-1]
s = optuna.create_study(direction="minimize", sampler=optuna.samplers.TPESampler(seed=2), pruner=optuna.pruners.MedianPruner(n_startup_trials=4, n_warmup_steps=5),
                        storage="sqlite:///hpo.db", study_name="eta-delivery", load_if_exists=True)
s.optimize(objective, n_trials=24)
print("complete", len(s.get_trials(states=[optuna.trial.TrialState.COMPLETE])), "pruned", len(s.get_trials(states=[optuna.trial.TrialState.PRUNED])))
print("best", s.best_params, s.best_value)
