import time
import pandas as pd
from catboost import CatBoostClassifier, Pool


class Pace:
    def after_iteration(self, info):
        time.sleep(0.1)
        return True


d = pd.read_csv("baskets.csv")
cat = ["store", "category"]
tr = Pool(d[:2300].drop(columns="again"), d[:2300].again, cat)
va = Pool(d[2300:].drop(columns="again"), d[2300:].again, cat)
m = CatBoostClassifier(iterations=2000, learning_rate=0.06, depth=5, eval_metric="AUC", od_type="Iter", od_wait=150, thread_count=1, random_seed=1, train_dir="cb_info")
m.fit(tr, eval_set=va, verbose=20, callbacks=[Pace()])
m.save_model("model.cbm")
