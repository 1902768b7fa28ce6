import sys
import time

import numpy as np
from catboost import CatBoostClassifier, Pool

country = sys.argv[1]
rng = np.random.default_rng(len(country) + ord(country[0]))
x = rng.normal(size=(3000, 10))
plan = rng.choice(["basic", "plus", "pro"], 3000)
y = (x[:, 0] - x[:, 1] + (plan == "basic") + rng.normal(0, 1, 3000) > 0.6).astype(int)
rows = [[*r, p] for r, p in zip(x.tolist(), plan.tolist())]
train, test = Pool(rows[:2400], y[:2400], cat_features=[10]), Pool(rows[2400:], y[2400:], cat_features=[10])


class Pace:
    def after_iteration(self, info):
        time.sleep(0.15)
        return True


model = CatBoostClassifier(iterations=150, learning_rate=0.06, depth=4, eval_metric="AUC", thread_count=1,
                           train_dir=f"logs/{country}", allow_writing_files=False)
model.fit(train, eval_set=test, verbose=10, callbacks=[Pace()])
model.save_model(f"models/{country}.cbm")
print(f"saved models/{country}.cbm, auc {model.get_best_score()['validation']['AUC']:.4f}")
