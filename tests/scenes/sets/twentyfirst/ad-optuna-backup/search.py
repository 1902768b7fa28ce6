import logging
import sys
import time

import numpy as np
import optuna
from sklearn.datasets import make_classification
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("подбор")
optuna.logging.set_verbosity(optuna.logging.WARNING)
X, y = make_classification(6000, 30, n_informative=12, flip_y=0.08, random_state=4)
Xt, yt, Xv, yv = X[:4500], y[:4500], X[4500:], y[4500:]


def objective(trial):
    alpha = trial.suggest_float("alpha", 1e-6, 1e-1, log=True)
    l1 = trial.suggest_float("l1_ratio", 0.0, 1.0)
    eta = trial.suggest_float("eta0", 1e-4, 1e-2, log=True)
    m = SGDClassifier(loss="log_loss", penalty="elasticnet", alpha=alpha, l1_ratio=l1, eta0=eta,
                      learning_rate="constant", random_state=0)
    for ep in range(8):
        m.partial_fit(Xt, yt, classes=[0, 1])
        v = log_loss(yv, m.predict_proba(Xv))
        trial.report(v, ep)
        time.sleep(0.4)
        log.info("испытание %d эпоха %d logloss=%.4f", trial.number, ep + 1, v)
    return v


storage = optuna.storages.RDBStorage("sqlite:///study.db", engine_kwargs={"connect_args": {"timeout": 1800}})
study = optuna.create_study(study_name="sgd", storage=storage, load_if_exists=True, direction="minimize",
                            sampler=optuna.samplers.TPESampler(seed=2))
log.info("начинаем подбор, 60 испытаний, база study.db")
study.optimize(objective, n_trials=60, callbacks=[
    lambda s, t: log.info("испытание %d готово: %.4f, лучшее %.4f", t.number, t.value, s.best_value)])
log.info("готово, лучшее %s", study.best_params)
