"""Prévision de la demande, xgboost, avec points de reprise."""
import datetime
import glob
import logging
import os
import time

import numpy as np
import xgboost as xgb

RUN = datetime.datetime.now().strftime("runs/%Y%m%d-%H%M%S")
os.makedirs(RUN, exist_ok=True)
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("demande")
open("pid", "w").write(str(os.getpid()))

rng = np.random.default_rng(1)
X = rng.normal(size=(6000, 12))
y = X[:, 0] * 3 + np.sin(X[:, 1] * 2) * 2 + X[:, 2] * X[:, 3] + rng.normal(0, 0.5, 6000)
dtr, dva = xgb.DMatrix(X[:5000], y[:5000]), xgb.DMatrix(X[5000:], y[5000:])
TOURS = 230


class Suivi(xgb.callback.TrainingCallback):
    def __init__(self, debut):
        self.debut = debut

    def after_iteration(self, model, epoch, evals_log):
        time.sleep(0.4)
        n = epoch + 1
        if n % 2 == 0:
            log.info("tour %d/%d rmse_validation=%.4f", n, TOURS, evals_log["val"]["rmse"][-1])
        if n % 20 == 0:
            model.save_model(f"{RUN}/tour_{n:04d}.ubj")
            log.info("point de reprise écrit : %s/tour_%04d.ubj", RUN, n)
        return False


points = sorted(glob.glob(f"{RUN}/tour_*.ubj"))
base = points[-1] if points else None
debut = int(base[-8:-4]) if base else 0
log.info("reprise depuis %s", base) if base else log.info("pas de point de reprise dans %s, départ au tour 0", RUN)
xgb.train(dict(max_depth=4, eta=0.05, nthread=1), dtr, TOURS - debut, evals=[(dva, "val")],
          xgb_model=base, callbacks=[Suivi(debut)], verbose_eval=False).save_model("demande.ubj")
log.info("terminé, modèle dans demande.ubj")
