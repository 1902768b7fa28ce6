import json, sys, time
import numpy as np
from catboost import CatBoostRegressor, Pool


def emit(**kw):
    print(json.dumps({"ts": round(time.time(), 2), **kw}), flush=True)


class Every:
    def __init__(self, fold, n):
        self.fold, self.n = fold, n

    def after_iteration(self, info):
        time.sleep(0.15)
        if info.iteration % self.n == 0:
            m = info.metrics["validation"]["RMSE"][-1]
            emit(event="iter", fold=self.fold, iteration=info.iteration, valid_rmse=round(m, 4))
        return True


def main(folds=5, rounds=90):
    rng = np.random.default_rng(21)
    t = np.arange(1500)
    y = 100 + 12 * np.sin(2 * np.pi * t / 7) + 0.02 * t + rng.normal(0, 3, len(t))
    x = np.column_stack([t % 7, t % 30, np.roll(y, 7), np.roll(y, 14), np.roll(y, 28)])[30:]
    y = y[30:]
    emit(event="start", rows=len(y), folds=folds)
    scores = []
    for fold in range(folds):
        end = 900 + fold * 100
        model = CatBoostRegressor(iterations=rounds, learning_rate=0.1, depth=4, thread_count=1, verbose=False,
                                  allow_writing_files=False, loss_function="RMSE", random_seed=fold)
        model.fit(Pool(x[:end], y[:end]), eval_set=Pool(x[end:end + 100], y[end:end + 100]),
                  callbacks=[Every(fold, 10)])
        p = model.predict(x[end:end + 100])
        scores.append(float(np.abs(p / y[end:end + 100] - 1).mean()))
        model.save_model(f"fold{fold}.cbm")
        emit(event="fold", fold=fold, mape=round(scores[-1], 4), model=f"fold{fold}.cbm")
    emit(event="end", mape=round(float(np.mean(scores)), 4))
    return 0


sys.exit(main())
