"""Feature selection by null importances: the real target once, then shuffled targets for comparison."""
import sys
import time

import lightgbm as lgb
import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

rng = np.random.default_rng(12)
COLS = [f"f{i:02d}" for i in range(14)]


def table(n=700):
    x = pd.DataFrame(rng.normal(size=(n, 14)), columns=COLS)
    y = (1.2 * x.f00 - x.f01 + x.f02 * x.f03 + 0.6 * rng.normal(size=n) > 0).astype(int)
    return x, y.to_numpy()


def fit(name, x, y, xv, yv, rounds=24):
    def slow(env):
        time.sleep(0.38)
        if (env.iteration + 1) % 8 == 0:
            r = env.evaluation_result_list
            print(f"{time.strftime('%H:%M:%S')} {name} round {env.iteration + 1:2d} valid auc {r[0][2]:.4f} logloss {r[1][2]:.4f}", flush=True)

    d = lgb.Dataset(x, y, free_raw_data=False)
    m = lgb.train({"objective": "binary", "metric": ["auc", "binary_logloss"], "num_threads": 1, "learning_rate": 0.2, "min_data_in_leaf": 110,
                   "min_gain_to_split": 1.5, "seed": 1, "verbose": 0}, d, rounds, valid_sets=[lgb.Dataset(xv, yv, reference=d)], callbacks=[slow])
    auc = roc_auc_score(yv, m.predict(xv))
    return m, auc


def main():
    x, y = table()
    xt, yt, xv, yv = x[:480], y[:480], x[480:], y[480:]
    real, auc = fit("real", xt, yt, xv, yv)
    real.save_model("real.txt")
    print(f"real target: auc {auc:.4f}, model in real.txt", flush=True)
    gain = real.feature_importance("gain")
    nulls = []
    for k in range(1, 13):
        m, auc = fit(f"shuffled {k:2d}/12", xt, rng.permutation(yt), xv, rng.permutation(yv))
        nulls.append(m.feature_importance("gain"))
        pd.DataFrame(nulls, columns=COLS).to_csv("nulls.csv", index=False)
        print(f"shuffled {k:2d}/12: auc {auc:.4f}", flush=True)
    p95 = np.percentile(nulls, 95, axis=0)
    keep = [c for c, g, n in zip(COLS, gain, p95) if g > n]
    print(f"kept {len(keep)} of {len(COLS)}: {' '.join(keep)}", flush=True)


if __name__ == "__main__":
    main()
    sys.exit(0)
