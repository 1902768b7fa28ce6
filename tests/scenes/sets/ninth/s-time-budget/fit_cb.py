import argparse
import time

import numpy as np
from catboost import CatBoostRegressor, Pool

from dataset import table


class Progress:
    def after_iteration(self, info):
        time.sleep(0.3)
        if info.iteration % 8 == 0:
            got = {k: v["RMSE"][-1] for k, v in info.metrics.items()}
            print(f"{time.strftime('%X')} round {info.iteration}/{a.rounds} learn {got['learn']:.5f} valid {got['validation']:.5f}")
        return True


p = argparse.ArgumentParser()
p.add_argument("--rounds", type=int)
p.add_argument("--out")
a = p.parse_args()
x, y, cats = table(2500, seed=1)
vx, vy, _ = table(600, seed=2)
model = CatBoostRegressor(iterations=a.rounds, depth=4, learning_rate=0.05, thread_count=1, random_seed=0,
                          logging_level="Silent", allow_writing_files=False, loss_function="RMSE")
model.fit(Pool(x, y, cat_features=cats), eval_set=Pool(vx, vy, cat_features=cats), callbacks=[Progress()])
model.save_model(a.out)
print("best", model.get_best_score()["validation"]["RMSE"])
