import json, sys, time, pandas as pd, lightgbm as lgb
cfg = json.load(open("config.json"))
df = pd.read_csv(cfg["export"])
y = df.pop("click"); k = int(len(df) * .8)
print(f"retrain: {len(df)} clicks loaded from {cfg['export']}", flush=True)
def pace(env): time.sleep(.08)
b = lgb.train({"objective": "binary", "metric": "auc", "num_leaves": 15, "learning_rate": .08, "verbosity": -1, "num_threads": 1},
              lgb.Dataset(df[:k], y[:k]), cfg["rounds"], valid_sets=[lgb.Dataset(df[k:], y[k:])],
              callbacks=[lgb.log_evaluation(10), pace])
b.save_model("model_live.txt")
print(f"retrain: model published, auc={b.best_score['valid_0']['auc']:.4f}", flush=True)
