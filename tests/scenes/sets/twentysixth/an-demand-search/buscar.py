"""Búsqueda de hiperparámetros para la demanda diaria (LightGBM + Optuna)."""
import logging
import pathlib
import sys
import time

import lightgbm as lgb
import numpy as np
import optuna

CACHE = pathlib.Path("cache")
optuna.logging.get_logger("optuna").addHandler(logging.StreamHandler(sys.stdout))
optuna.logging.disable_default_handler()
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("busqueda")


def preparar():
    CACHE.mkdir(exist_ok=True)
    r = np.random.default_rng(2)
    t = np.arange(1800)
    x = np.stack([t % 7, t % 30, np.sin(t / 58), r.normal(size=1800), r.normal(size=1800)], 1)
    y = 100 + 12 * (x[:, 0] > 4) + 9 * x[:, 2] + 4 * x[:, 3] + r.normal(size=1800) * 3
    np.savez(CACHE / "entrenamiento.npz", x=x[:1400], y=y[:1400])
    np.savez(CACHE / "prueba.npz", x=x[1400:], y=y[1400:])
    log.info("caché escrita en %s", CACHE)


def pausa(env):
    time.sleep(0.08)


def objetivo(trial):
    p = dict(objective="l2", verbose=-1, num_threads=1, seed=1,
             learning_rate=trial.suggest_float("learning_rate", 0.03, 0.3, log=True),
             num_leaves=trial.suggest_int("num_leaves", 4, 40),
             min_data_in_leaf=trial.suggest_int("min_data_in_leaf", 5, 60),
             feature_fraction=trial.suggest_float("feature_fraction", 0.5, 1.0))
    m = lgb.train(p, lgb.Dataset(DATOS["x"], DATOS["y"]), num_boost_round=45, callbacks=[pausa])
    q = np.load(CACHE / "prueba.npz")
    mae = float(np.abs(m.predict(q["x"]) - q["y"]).mean())
    m.save_model(f"modelos/ensayo_{trial.number:03d}.txt")
    return mae


if __name__ == "__main__":
    pathlib.Path("modelos").mkdir(exist_ok=True)
    preparar()
    with np.load(CACHE / "entrenamiento.npz") as d:
        DATOS = {k: d[k] for k in d}
    estudio = optuna.create_study(study_name="demanda", storage="sqlite:///demanda.db",
                                  sampler=optuna.samplers.TPESampler(seed=7))
    # un ensayo malo no debe parar la noche
    estudio.optimize(objetivo, n_trials=36, catch=(Exception,))
    log.info("mejor MAE %.4f con %s", estudio.best_value, estudio.best_params)
    log.info("fin de la búsqueda")
