import sys
import time
from datetime import datetime

import lightgbm as lgb
import numpy as np


def trace(texte):
    print(f"{datetime.now():%d/%m/%Y %H:%M:%S} [{sys.argv[1]}] {texte}", flush=True)


def ventes(rayon, n=1500):
    r = np.random.default_rng(sum(map(ord, rayon)))
    jour = np.arange(n)
    x = np.column_stack([jour % 7, jour % 365, r.normal(12, 7, n), r.integers(0, 2, n), r.normal(size=(n, 6))])
    y = 200 + 30 * np.cos(jour % 7) + 40 * np.sin(jour / 58) + 2 * x[:, 2] + 25 * x[:, 3] + r.normal(0, 12, n)
    return x, y


def rythme(env):
    time.sleep(0.07)
    if (env.iteration + 1) % 20 == 0:
        (_, _, app, _), (_, _, val, _) = env.evaluation_result_list
        trace(f"itération {env.iteration + 1} : rmse apprentissage {app:.3f}, rmse validation {val:.3f}")


def main():
    rayon = sys.argv[1]
    x, y = ventes(rayon)
    a, b = np.arange(1200), np.arange(1200, len(y))
    ds = lgb.Dataset(x[a], y[a])
    trace(f"{len(a)} jours d'apprentissage, {len(b)} jours de validation")
    bst = lgb.train(
        {"objective": "rmse", "metric": "rmse", "learning_rate": 0.08, "num_leaves": 12, "num_threads": 1, "verbose": -1, "min_data_in_leaf": 15}, ds, 500,
        valid_sets=[ds, ds.create_valid(x[b], y[b])], valid_names=["app", "val"],
        callbacks=[rythme, lgb.early_stopping(20, verbose=False)])
    trace(f"arrêt anticipé : meilleure itération {bst.best_iteration}, rmse {bst.best_score['val']['rmse']:.3f}")
    bst.save_model(f"modeles/{rayon}.txt")


main()
