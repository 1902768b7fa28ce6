import time
import lightgbm as lgb
import numpy as np

rng = np.random.default_rng(7)
d = np.load("dane.npz")
X, y = d["X"], d["y"]
tr = lgb.Dataset(X[:2600], y[:2600])
wa = lgb.Dataset(X[2600:], y[2600:], reference=tr)


def tempo(env):
    time.sleep(0.35)


m = lgb.train(dict(objective="binary", metric="binary_logloss", num_leaves=63, min_data_in_leaf=20, learning_rate=0.05,
                   num_threads=1, seed=1, min_gain_to_split=0.5), tr, 1000, valid_sets=[tr, wa], valid_names=["trening", "walidacja"],
              callbacks=[tempo, lgb.log_evaluation(5), lgb.early_stopping(90)])
m.save_model("model.txt")
print(f"zapisano model.txt, najlepsza iteracja {m.best_iteration}", flush=True)
