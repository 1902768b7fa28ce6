import json
import sys
import time
import tomllib

import lightgbm as lgb
import numpy as np
from sklearn.metrics import roc_auc_score

cfg = tomllib.load(open("config.toml", "rb"))
fold = int(sys.argv[1])
rng = np.random.default_rng(cfg["seed"])
x = rng.normal(size=(4000, 12))
risk = 0.9 * x[:, 0] - 0.7 * x[:, 3] + 0.5 * x[:, 5] * x[:, 1]
y = (risk + rng.normal(size=4000) > 1.0).astype(int)
part = np.arange(4000) % cfg["folds"]
train = lgb.Dataset(x[part != fold], y[part != fold])
valid = lgb.Dataset(x[part == fold], y[part == fold], reference=train)


def pace(env):
    time.sleep(0.12)


model = lgb.train(
    {"objective": "binary", "metric": "auc", "num_leaves": cfg["num_leaves"], "learning_rate": cfg["learning_rate"], "num_threads": 1, "verbose": 1},
    train, cfg["rounds"], valid_sets=[valid], valid_names=[f"fold{fold}"], callbacks=[lgb.log_evaluation(10), pace],
)
auc = roc_auc_score(y[part == fold], model.predict(x[part == fold]))
model.save_model(f"models/fold{fold}.txt")
with open(f"models/fold{fold}.json", "w") as f:
    json.dump({"fold": fold, "auc": round(float(auc), 4)}, f)
print(f"fold {fold}: AUC {auc:.4f}, saved models/fold{fold}.txt", flush=True)
