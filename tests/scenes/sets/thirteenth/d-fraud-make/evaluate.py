import argparse, json, time, xgboost as xgb
from sklearn.metrics import average_precision_score, roc_auc_score
from features import load
a = argparse.ArgumentParser()
for k in ("--model", "--month", "--out"): a.add_argument(k)
a = a.parse_args()
b = xgb.Booster(model_file=a.model); d = load([a.month])
print("evaluate:", a.month, d.num_row(), "rows"); time.sleep(2)
p = b.predict(d); y = d.get_label()
json.dump({"auc": roc_auc_score(y, p), "ap": average_precision_score(y, p)}, open(a.out, "w"))
print("evaluate: wrote", a.out)
