import glob
import json

rows = [json.load(open(p)) for p in sorted(glob.glob("models/*.json"))]
mean = sum(r["auc"] for r in rows) / len(rows)
print("mean AUC over", len(rows), "folds:", round(mean, 4))
