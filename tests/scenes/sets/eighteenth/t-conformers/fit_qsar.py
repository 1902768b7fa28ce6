import multiprocessing as mp
import sys
from datetime import datetime
from pathlib import Path

import joblib
import numpy as np
from sklearn.neural_network import MLPRegressor

from confgen import register, relax

RUN = Path(sys.argv[1])
RUN.mkdir(exist_ok=True)


def say(msg):
    print(f"{datetime.now():%d.%m.%Y %H:%M:%S}  {msg}", flush=True)


def main():
    model = MLPRegressor(hidden_layer_sizes=(48, 48), learning_rate_init=2e-3, random_state=0)
    pool = mp.get_context("fork").Pool(4, initializer=register, initargs=(str(RUN),))
    say("4 Prozesse fuer Konformere gestartet")
    xs, ys = [], []
    for gen in range(1, 61):
        tasks = [(gen * 12 + k, gen * 1000 + k) for k in range(12)]
        out = pool.map(relax, tasks, chunksize=1)
        xs += [o[0] for o in out]
        ys += [o[1] for o in out]
        x, y = np.array(xs), np.array(ys)
        for _ in range(10):
            model.partial_fit(x, y)
        mae = np.abs(model.predict(x) - y).mean()
        say(f"Generation {gen:3d}/60   Molekuele {len(xs):5d}   Verlust {model.loss_:9.4f}   MAE {mae:7.4f} kcal/mol")
        if gen % 10 == 0:
            joblib.dump(model, RUN / f"qsar_{gen:03d}.joblib")
            say(f"gespeichert: qsar_{gen:03d}.joblib")
    pool.close()
    pool.join()
    say("fertig")


if __name__ == "__main__":
    main()
