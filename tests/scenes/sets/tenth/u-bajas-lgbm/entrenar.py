import argparse
import time
import zlib

import lightgbm as lgb
import numpy as np
import pandas as pd
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import train_test_split

p = argparse.ArgumentParser()
p.add_argument("--region", required=True)
region = p.parse_args().region


def info(texto):
    print(time.strftime("%d/%m/%Y %H:%M:%S"), f"[{region}]", texto, flush=True)


def cargar():
    r = np.random.default_rng(zlib.crc32(region.encode()))
    n = 6000
    df = pd.DataFrame({
        "antiguedad": r.gamma(2.0, 14.0, n), "factura": r.normal(38, 9, n), "llamadas": r.poisson(2.2, n),
        "datos_gb": r.lognormal(2, 0.7, n), "impagos": r.poisson(0.3, n),
        "plan": pd.Categorical(r.choice(["basico", "familia", "pro"], n)),
    })
    z = -0.03 * df.antiguedad + 0.04 * (df.factura - 38) + 0.5 * df.impagos + 0.25 * df.llamadas - 0.9
    df["baja"] = (r.random(n) < 1 / (1 + np.exp(-z))).astype(int)
    return df


def ritmo(env):
    time.sleep(0.2)


df = cargar()
info(f"filas={len(df)} tasa de bajas={df.baja.mean():.3f}")
ent, val = train_test_split(df, test_size=0.25, random_state=7, stratify=df.baja)
cols = [c for c in df.columns if c != "baja"]
dtr = lgb.Dataset(ent[cols], ent.baja)
dva = lgb.Dataset(val[cols], val.baja, reference=dtr)
params = {"objective": "binary", "metric": ["auc", "binary_logloss"], "learning_rate": 0.06, "num_leaves": 15,
          "num_threads": 1, "verbose": 1, "feature_fraction": 0.8, "seed": 1}
t0 = time.time()
modelo = lgb.train(params, dtr, 400, valid_sets=[dtr, dva], valid_names=["ent", "val"],
                   callbacks=[lgb.log_evaluation(10), lgb.early_stopping(40), ritmo])
pred = modelo.predict(val[cols], num_iteration=modelo.best_iteration)
info(f"mejor iteracion={modelo.best_iteration} AUC={roc_auc_score(val.baja, pred):.4f} "
     f"AP={average_precision_score(val.baja, pred):.4f} tiempo={time.time() - t0:.0f}s")
for nombre, peso in sorted(zip(cols, modelo.feature_importance("gain")), key=lambda x: -x[1]):
    info(f"   importancia {nombre:<12} {peso:10.1f}")
modelo.save_model(f"modelos/bajas_{region}.txt")
info("modelo guardado")
