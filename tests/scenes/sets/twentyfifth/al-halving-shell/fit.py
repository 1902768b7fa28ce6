"""One configuration, goes on from where its last share ended."""
import json
import os
import sys
import time

import numpy as np
import xgboost as xgb

CONF = {"c1": dict(eta=0.1, max_depth=3), "c2": dict(eta=2.6, max_depth=5, base_score=0.5), "c3": dict(eta=0.05, max_depth=5), "c4": dict(eta=0.3, max_depth=2),
        "c5": dict(eta=0.001, max_depth=2), "c6": dict(eta=0.2, max_depth=4)}
name = sys.argv[1]
rng = np.random.default_rng(3)
x = rng.normal(size=(1500, 10))
y = (x[:, 0] * x[:, 1] + x[:, 2] + 0.5 * np.sin(3 * x[:, 3]) + 0.5 * rng.normal(size=1500) > 0).astype(int)
train, valid = xgb.DMatrix(x[:1100], y[:1100]), xgb.DMatrix(x[1100:], y[1100:])
model = f"runs/{name}.json"


class Share(xgb.callback.TrainingCallback):
    def after_iteration(self, m, epoch, log):
        time.sleep(0.3)
        v = log["valid"]
        if m.num_boosted_rounds() % 4 == 0:
            m.save_model(f"runs/{name}.tmp.json")
            os.replace(f"runs/{name}.tmp.json", model)
            with open(f"runs/{name}.auc", "w") as f:
                f.write(f"{v['auc'][-1]:.4f}\n")
            print(f"{time.strftime('%H:%M:%S')} {name} round {m.num_boosted_rounds():3d} logloss {v['logloss'][-1]:.4f} auc {v['auc'][-1]:.4f}", flush=True)


old = xgb.Booster(model_file=model) if os.path.exists(model) else None
done = old.num_boosted_rounds() if old else 0
xgb.train(dict(CONF[name], objective="binary:logistic", eval_metric=["logloss", "auc"], nthread=1), train, 120 - done,
          evals=[(valid, "valid")], verbose_eval=False, xgb_model=old, callbacks=[Share()])
