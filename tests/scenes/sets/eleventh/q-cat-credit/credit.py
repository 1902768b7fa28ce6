import sys
import time

import numpy as np
import pandas as pd
from catboost import CatBoostClassifier, Pool

CATS = ["job", "region", "purpose"]


class Pace:
    def after_iteration(self, info):
        time.sleep(0.1)
        return True


def loans(n, seed):
    r = np.random.default_rng(seed)
    df = pd.DataFrame({
        "amount": r.lognormal(9, 0.6, n), "term": r.choice([12, 24, 36, 60], n), "income": r.lognormal(10, 0.4, n), "age": r.integers(19, 75, n),
        "job": r.choice(list("abcdef"), n), "region": r.choice([f"r{i}" for i in range(14)], n), "purpose": r.choice(["car", "home", "other"], n)})
    z = 1.1 * np.log(df.amount / df.income) + 0.02 * df.term + (df.job == "c") * 0.8 - (df.age > 40) * 0.5 + 0.1
    return df, (r.random(n) < 1 / (1 + np.exp(-z))).astype(int)


def main():
    x, y = loans(3000, 0)
    xv, yv = loans(1000, 1)
    train, valid = Pool(x, y, cat_features=CATS), Pool(xv, yv, cat_features=CATS)
    table = {}
    for depth in (3, 4, 5):
        print(f"== depth {depth}", flush=True)
        model = CatBoostClassifier(iterations=140, depth=depth, learning_rate=0.06, loss_function="Logloss", custom_metric=["AUC"], thread_count=1,
                                   random_seed=5, l2_leaf_reg=6, train_dir=f"catboost_d{depth}")
        model.fit(train, eval_set=valid, verbose=10, use_best_model=True, callbacks=[Pace()])
        table[depth] = model.get_best_score()["validation"]
        model.save_model(f"credit_d{depth}.cbm")
        sys.stdout.flush()
    print(pd.DataFrame(table).T.round(5).to_string())


if __name__ == "__main__":
    main()
