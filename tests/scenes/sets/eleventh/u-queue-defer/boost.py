import json
import os
import sys
import time

import numpy as np
import xgboost as xgb

job = json.load(open(sys.argv[1]))
if not os.path.exists(job["needs"]):
    print(f"[{job['name']}] input not delivered yet: {job['needs']}", file=sys.stderr)
    sys.exit(os.EX_TEMPFAIL)


class Pace(xgb.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        time.sleep(0.1)
        return False


r = np.random.default_rng(len(job["name"]))
x = r.normal(size=(4000, 10))
y = x[:, 0] * 3 + np.sin(x[:, 1] * 2) * 4 + x[:, 2] * x[:, 3] + r.normal(0, 0.5, 4000)
dtr, dva = xgb.DMatrix(x[:3200], y[:3200]), xgb.DMatrix(x[3200:], y[3200:])
m = xgb.train({"eta": job["eta"], "max_depth": 4, "nthread": 1, "objective": "reg:squarederror"}, dtr, job["rounds"],
              evals=[(dtr, "train"), (dva, "eval")], verbose_eval=20, callbacks=[Pace()])
m.save_model(f"models/{job['name']}.ubj")
print(f"[{job['name']}] saved models/{job['name']}.ubj", flush=True)
