"""Demanda por tienda con LightGBM; un solo reentrenamiento a la vez (modelo.lock)."""
import os
import sys
import time

import lightgbm as lgb
import numpy as np

LOCK = "modelo.lock"


def ventas(dias):
    rng = np.random.default_rng(9)
    n = dias * 24
    x = np.column_stack([np.tile(np.arange(24), dias), np.repeat(np.arange(dias) % 7, 24), rng.normal(size=n)])
    y = 30 + 10 * np.sin(x[:, 0] / 24 * 6.28) + 6 * (x[:, 1] > 4) + 3 * x[:, 2] + rng.normal(size=n)
    return x, y


def main():
    try:
        fd = os.open(LOCK, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    except FileExistsError:
        print("reentrenar: modelo.lock presente, hay otro reentrenamiento en marcha; se omite", flush=True)
        return 0
    os.write(fd, str(os.getpid()).encode())
    os.close(fd)
    try:
        dias = int(open("dias.txt").read())
        x, y = ventas(dias)
        corte = int(0.85 * len(y))
        train = lgb.Dataset(x[:corte], y[:corte])
        valid = lgb.Dataset(x[corte:], y[corte:], reference=train)

        def paso(env):
            # el tiempo de una ronda crece con los datos
            time.sleep(0.014 * dias)
            if (env.iteration + 1) % 5 == 0:
                print(f"reentrenar: ronda {env.iteration + 1:2d}/30 rmse {env.evaluation_result_list[0][2]:.3f}", flush=True)

        m = lgb.train({"objective": "regression", "metric": "rmse", "num_threads": 1, "verbose": -1, "learning_rate": 0.15},
                      train, 30, valid_sets=[valid], callbacks=[paso])
        m.save_model("modelo.nuevo")
        os.replace("modelo.nuevo", "modelo.txt")
        print(f"reentrenar: modelo.txt publicado ({dias} dias)", flush=True)
    finally:
        os.unlink(LOCK)
    return 0


if __name__ == "__main__":
    sys.exit(main())
