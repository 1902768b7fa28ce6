"""Risco de saida, aprendido mes a mes (partial_fit); a cada dois lotes uma avaliacao."""
import glob
import logging
import sys
import time

import joblib
import numpy as np
import pandas as pd
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss, roc_auc_score

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("saida")


def mes(path, clientes):
    ev = pd.read_csv(path, dtype={"cliente": str})
    t = ev.merge(clientes, on="cliente", how="left")
    return t.drop(columns=["cliente", "saiu"]).fillna(0.0).to_numpy(), t["saiu"].to_numpy()


def main():
    clientes = pd.read_csv("dados/clientes.csv", dtype={"cliente": str})
    m = SGDClassifier(loss="log_loss", alpha=1e-3, learning_rate="constant", eta0=0.02, random_state=1)
    first = True
    for path in sorted(glob.glob("dados/2023-*.csv")):
        nome = path[-11:-4]
        x, y = mes(path, clientes)
        for b in range(13):
            xb, yb = x[b * 20:b * 20 + 20], y[b * 20:b * 20 + 20]
            if not first and b % 2 == 1:
                j = slice((b - 1) * 20, b * 20 + 20)
                p = m.predict_proba(x[j])[:, 1]
                log.info("mes %s lote %2d/13 perda %.4f auc %.3f", nome, b + 1, log_loss(y[j], p, labels=[0, 1]),
                         roc_auc_score(y[j], p))
            m.partial_fit(xb, yb, classes=[0, 1])
            first = False
            time.sleep(0.75)
        joblib.dump(m, f"modelo_{nome}.joblib")
        log.info("modelo_%s.joblib gravado", nome)
    log.info("fim")


if __name__ == "__main__":
    main()
