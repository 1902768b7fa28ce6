import time, numpy as np, pandas as pd
from catboost import CatBoostClassifier, Pool
r = np.random.default_rng(4); n = 3000
df = pd.DataFrame({"plan": r.choice(["S", "M", "L", "XL"], n), "land": r.choice(list("ABCDEFGH"), n), "tenure": r.integers(1, 90, n), "calls": r.poisson(3, n)})
y = ((df.plan == "S") * .8 + df.calls * .2 - df.tenure / 60 + r.normal(0, 1.2, n) > .3).astype(int)
cat = ["plan", "land"]
class Slow:
    def after_iteration(self, info): time.sleep(.2); return True
m = CatBoostClassifier(iterations=2000, learning_rate=.04, depth=4, eval_metric="Logloss", custom_metric=["AUC"], thread_count=1, random_seed=3, od_type="Iter", od_wait=40, allow_writing_files=False)
m.fit(Pool(df[:2200], y[:2200], cat), eval_set=Pool(df[2200:], y[2200:], cat), verbose=10, callbacks=[Slow()])
print("best iteration", m.get_best_iteration(), m.get_best_score()["validation"])
m.save_model("churn.cbm")
