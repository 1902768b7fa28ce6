"""Un modelo por tienda y producto: ajuste, pronóstico de 28 días, guardado."""
import json
import logging
import os
import time

import joblib
import numpy as np
import pandas as pd
from sklearn.linear_model import RidgeCV

logging.basicConfig(level=logging.INFO, format="%(asctime)s [%(levelname)s] %(message)s", datefmt="%d/%m/%Y %H:%M:%S")
log = logging.getLogger()
rng = np.random.default_rng(8)
SERIES, DIAS, LAGS = 380, 500, 21


def serie(i):
    t = np.arange(DIAS)
    return np.maximum(0, 40 + 12 * np.sin(2 * np.pi * t / 7 + i) + 0.02 * t + rng.normal(0, 5, DIAS))


guardadas, perdidas = 0, 0
log.info("inicio: %d series", SERIES)
for i in range(1, SERIES + 1):
    y = serie(i)
    X = np.stack([y[k:DIAS - LAGS + k] for k in range(LAGS)], 1)
    m = RidgeCV(np.logspace(-2, 3, 12)).fit(X[:-28], y[LAGS:-28])
    err = float(np.mean(np.abs(m.predict(X[-28:]) - y[-28:])) / y[-28:].mean())
    time.sleep(0.38)
    d = f"modelos/s{i:05d}"
    try:
        os.makedirs(d)
        joblib.dump(m, d + "/modelo.joblib")
        pd.DataFrame({"dia": range(28), "q50": m.predict(X[-28:]).round(2)}).to_csv(d + "/pronostico.csv", index=False)
        with open(d + "/meta.json", "w") as f:
            json.dump({"serie": i, "wape": err, "alfa": float(m.alpha_)}, f)
        guardadas += 1
        log.info("serie %d/%d wape=%.3f guardada", i, SERIES, err)
    except OSError as e:
        perdidas += 1
        log.warning("serie %d/%d wape=%.3f no se pudo guardar: %s", i, SERIES, err, e)
log.info("fin: %d guardadas, %d sin guardar", guardadas, perdidas)
