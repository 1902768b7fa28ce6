import argparse

import numpy as np
import xgboost as xgb
from sklearn.metrics import classification_report, confusion_matrix

p = argparse.ArgumentParser()
p.add_argument("--model", required=True)
p.add_argument("--data", required=True)
a = p.parse_args()
d = np.load(a.data)
x, y = d["x"][2500:], d["y"][2500:]
booster = xgb.Booster(model_file=a.model)
pred = (booster.predict(xgb.DMatrix(x)) > 0.5).astype(int)
print("Test set:", len(y))
print(classification_report(y, pred, target_names=["stays", "leaves"], digits=3))
print("False negatives:", confusion_matrix(y, pred)[1, 0])
