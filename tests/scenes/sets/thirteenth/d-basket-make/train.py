import time, warnings, pandas as pd, lightgbm as lgb
df = pd.read_csv("out/basket.csv"); y = df.pop("value"); k = 300
def pace(env): time.sleep(.1)
b = lgb.train({"objective": "regression", "metric": ["l2", "mape"], "num_leaves": 63, "max_depth": 4, "learning_rate": .05, "num_threads": 1, "min_data_in_leaf": 25},
              lgb.Dataset(df[:k], y[:k]), 250, valid_sets=[lgb.Dataset(df[k:], y[k:])], callbacks=[lgb.log_evaluation(10), pace])
b.save_model("out/model.txt"); print("model: out/model.txt")
