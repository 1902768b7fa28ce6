"""Pruning callback (optuna-integration is not on the box)."""
import time

import optuna
import xgboost as xgb


class Report(xgb.callback.TrainingCallback):
    def __init__(self, trial):
        self.trial = trial

    def after_iteration(self, model, epoch, evals_log):
        time.sleep(0.13)
        self.trial.report(evals_log["val"]["auc"][-1], epoch)
        if self.trial.should_prune():
            raise optuna.TrialPruned(f"pruned at round {epoch}")
        return False
