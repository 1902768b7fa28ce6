import argparse, os, time
import pandas as pd
import xgboost as xgb

ap = argparse.ArgumentParser()
ap.add_argument("--name"); ap.add_argument("--depth", type=int); ap.add_argument("--eta", type=float)
a = ap.parse_args()


class Pace(xgb.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        time.sleep(0.35)
        if epoch % 5 == 0:
            v = evals_log["valid"]["auc"][-1]
            print(f"{a.name} round {epoch} valid-auc {v:.4f}", flush=True)
        return False


df = pd.read_parquet("data/features.parquet")
X, y = df.drop(columns="churn"), df.churn
cut = 9000
dtr, dva = xgb.DMatrix(X[:cut], y[:cut]), xgb.DMatrix(X[cut:], y[cut:])
print(f"{a.name} rows={len(df)} depth={a.depth} eta={a.eta}", flush=True)
b = xgb.train(dict(objective="binary:logistic", max_depth=a.depth, eta=a.eta, nthread=1, eval_metric="auc"),
              dtr, 46, evals=[(dva, "valid")], callbacks=[Pace()], verbose_eval=False)
os.makedirs("models", exist_ok=True)
b.save_model(f"models/{a.name}.json")
print(f"{a.name} saved models/{a.name}.json", flush=True)
