import json, sys, time
import numpy as np, lightgbm as lgb

cfg = json.load(open(sys.argv[1]))
rng = np.random.default_rng(cfg["seed"])
sizes = rng.integers(8, 20, cfg["queries"])
n = int(sizes.sum())
x = rng.standard_normal((n, 12))
rel = np.clip(np.round(x[:, 0] + 0.5 * x[:, 1] + rng.normal(0, .3, n) + 1), 0, 4).astype(int)
if cfg.get("drop_unclicked"):
    keep = rel > 0
    x, rel = x[keep], rel[keep]
cut = int(len(sizes) * 0.8)
rows = int(sizes[:cut].sum())
train = lgb.Dataset(x[:rows], rel[:rows], group=sizes[:cut])
valid = lgb.Dataset(x[rows:], rel[rows:], group=sizes[cut:], reference=train)


def pace(env):
    time.sleep(cfg["pace"])


lgb.train({"objective": "lambdarank", "metric": "ndcg", "eval_at": [5], "num_threads": 1, "verbose": 0,
           "learning_rate": cfg["lr"], "num_leaves": 15},
          train, num_boost_round=cfg["rounds"], valid_sets=[valid],
          callbacks=[lgb.log_evaluation(5), pace]).save_model(f"{cfg['name']}.txt")
print(f"{cfg['name']}: model written", flush=True)
