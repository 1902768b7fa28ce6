import argparse
import time

import numpy as np
import xgboost as xgb


class Pace(xgb.callback.TrainingCallback):
    """Slows down: the box is shared."""

    def after_iteration(self, model, epoch, evals_log):
        time.sleep(0.35)
        return False


def data(classes, rows=1500, cols=20, seed=3):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, cols)).astype(np.float32)
    score = x[:, 0] + x[:, 1] * x[:, 2] + rng.normal(scale=0.4, size=rows)
    if classes == 0:
        return x, score
    edges = np.quantile(score, np.linspace(0, 1, classes + 1)[1:-1])
    return x, np.digitize(score, edges)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--name")
    p.add_argument("--objective")
    p.add_argument("--classes", type=int)
    p.add_argument("--data-classes", type=int)
    p.add_argument("--depth", type=int)
    p.add_argument("--eta", type=float)
    p.add_argument("--rounds", type=int, default=30)
    a = p.parse_args()
    x, y = data(a.data_classes if a.data_classes is not None else a.classes)
    cut = int(len(x) * 0.8)
    train, valid = xgb.DMatrix(x[:cut], y[:cut]), xgb.DMatrix(x[cut:], y[cut:])
    params = {"objective": a.objective, "max_depth": a.depth, "eta": a.eta, "nthread": 1, "seed": 0}
    if a.objective.startswith("multi"):
        params["num_class"] = a.classes
    t0 = time.time()
    booster = xgb.train(params, train, a.rounds, evals=[(train, "train"), (valid, "valid")],
                        verbose_eval=3, callbacks=[Pace()])
    booster.save_model(f"models/{a.name}.ubj")
    print(f"{a.name}: {a.rounds} rounds in {time.time() - t0:.1f} s -> models/{a.name}.ubj")


if __name__ == "__main__":
    main()
