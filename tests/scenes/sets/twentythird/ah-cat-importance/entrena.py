"""Siniestros de seguros: CatBoost con parada temprana y después importancias por permutación."""
import time

import numpy as np
from catboost import CatBoostRegressor
from sklearn.datasets import make_friedman1

X, y = make_friedman1(2400, 12, noise=1.0, random_state=0)


class Pausa:
    def after_iteration(self, info):
        time.sleep(0.2)
        return True


print("entrenando, 600 iteraciones como máximo", flush=True)
m = CatBoostRegressor(iterations=600, depth=6, learning_rate=0.12, thread_count=1, od_type="Iter", od_wait=40,
                      random_seed=0, train_dir="cb", snapshot_file="estado.cbsnapshot", save_snapshot=True,
                      snapshot_interval=15, eval_metric="RMSE")
m.fit(X[:1600], y[:1600], eval_set=(X[1600:], y[1600:]), verbose=5, callbacks=[Pausa()])
print(f"mejor iteración {m.get_best_iteration()}, RMSE {m.get_best_score()['validation']['RMSE']:.4f}", flush=True)
print("calculando importancias por permutación (sin mensajes, alrededor de un minuto)", flush=True)
rng = np.random.default_rng(0)
base = np.sqrt(np.mean((m.predict(X[1600:]) - y[1600:]) ** 2))
imp = np.zeros(12)
for k in range(12):
    for _ in range(10):
        Z = X[1600:].copy()
        Z[:, k] = rng.permutation(Z[:, k])
        imp[k] += np.sqrt(np.mean((m.predict(Z, thread_count=1) - y[1600:]) ** 2)) - base
        a = time.process_time()
        while time.process_time() - a < 0.12:  # the slow part of the scorer
            m.predict(Z[:200], thread_count=1)
        time.sleep(0.35)
for k in np.argsort(-imp):
    print(f"  x{k:<3d} {imp[k] / 10:.4f}", flush=True)
m.save_model("siniestros.cbm")
print("terminado sin errores", flush=True)
