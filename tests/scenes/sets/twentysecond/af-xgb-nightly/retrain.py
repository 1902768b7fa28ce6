"""Reentrenamiento nocturno: la demanda del día siguiente con todas las ventas hasta hoy."""
import argparse
import glob
import os
import time

import numpy as np
import pandas as pd
import xgboost as xgb

ap = argparse.ArgumentParser()
ap.add_argument("--day", required=True)
a = ap.parse_args()
files = [f for f in sorted(glob.glob("inbox/ventas_*.csv")) if f <= f"inbox/ventas_{a.day}.csv"]
df = pd.concat([pd.read_csv(f) for f in files])
print(f"[{a.day}] {len(files)} ficheros, {len(df)} filas", flush=True)
y = df.pop("unidades").astype(float).to_numpy()
X = df[["precio", "promo", "tienda", "dia_semana", "temp"]].to_numpy(float)
n = int(len(X) * 0.8)


class Slow(xgb.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        time.sleep(0.3)
        return False


bst = xgb.train({"objective": "reg:squarederror", "eta": 0.15, "max_depth": 4, "nthread": 1},
                xgb.DMatrix(X[:n], y[:n]), 24, evals=[(xgb.DMatrix(X[:n], y[:n]), "train"), (xgb.DMatrix(X[n:], y[n:]), "val")],
                verbose_eval=4, callbacks=[Slow()])
os.makedirs("models", exist_ok=True)
bst.save_model(f"models/demanda_{a.day}.json")
print(f"[{a.day}] modelo guardado: models/demanda_{a.day}.json", flush=True)
