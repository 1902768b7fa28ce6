import time
import numpy as np
from catboost import CatBoostClassifier, CatBoostRegressor, Pool
rng = np.random.default_rng(9); X = rng.normal(size=(700, 8))
class Lento:
    def after_iteration(self, info): time.sleep(.08); return True
print("Cargando datos... 700 filas, 8 columnas")
y = (X[:, 0] - X[:, 3] + rng.normal(size=700) > 0).astype(int)
c = CatBoostClassifier(iterations=300, depth=4, learning_rate=.15, od_type="Iter", od_wait=25, thread_count=1, verbose=10, train_dir="info_c", random_seed=1)
c.fit(Pool(X[:500], y[:500]), eval_set=Pool(X[500:], y[500:]), callbacks=[Lento()])
print(f"Clasificador terminado en la iteración {c.get_best_iteration()}; guardando"); c.save_model("clasificador.cbm")
z = np.sin(X[:, 1]) + .2 * rng.normal(size=700)
r = CatBoostRegressor(iterations=220, depth=3, learning_rate=.05, thread_count=1, verbose=20, train_dir="info_r", random_seed=1)
r.fit(Pool(X[:500], z[:500]), eval_set=Pool(X[500:], z[500:]), callbacks=[Lento()])
r.save_model("regresor.cbm"); print("Entrenamiento completo. Error de validación:", round(r.get_best_score()["validation"]["RMSE"], 4))
