"""Weekly retrain of the credit scorecard. python run.py [ingest|train|validate|export|all]"""
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

WORK = Path("work")


def note(stage, **facts):
    print(" ".join([time.strftime("ts=%H:%M:%S"), f"stage={stage}", *(f"{k}={v}" for k, v in facts.items())]), flush=True)


def ingest():
    rng = np.random.default_rng(21)
    WORK.mkdir(exist_ok=True)
    x = rng.normal(size=(5000, 14))
    x[rng.random(x.shape) < 0.05] = np.nan
    y = (np.nan_to_num(x)[:, :4].sum(1) + rng.normal(0, 1, 5000) > 1).astype(int)
    np.savez(WORK / "table.npz", x=x, y=y)
    note("ingest", rows=5000, columns=14, missing=f"{np.isnan(x).mean():.3f}", bad_rate=f"{y.mean():.3f}")


def train():
    import xgboost as xgb

    class Pace(xgb.callback.TrainingCallback):
        def after_iteration(self, model, epoch, evals_log):
            time.sleep(0.25)
            if epoch % 5 == 0:
                note("train", round=epoch, train_auc=f"{evals_log['train']['auc'][-1]:.5f}",
                     valid_auc=f"{evals_log['valid']['auc'][-1]:.5f}")
            return False

    with np.load(WORK / "table.npz") as z:
        x, y = z["x"], z["y"]
    booster = xgb.train(
        {"objective": "binary:logistic", "eval_metric": "auc", "eta": 0.1, "max_depth": 3, "nthread": 1},
        xgb.DMatrix(x[:4000], y[:4000]), 160,
        [(xgb.DMatrix(x[:4000], y[:4000]), "train"), (xgb.DMatrix(x[4000:], y[4000:]), "valid")],
        verbose_eval=False, callbacks=[Pace()])
    booster.save_model(WORK / "score.ubj")
    note("train", saved="work/score.ubj")


def validate():
    import xgboost as xgb
    from sklearn.metrics import roc_auc_score

    with np.load(WORK / "table.npz") as z:
        x, y = z["x"][4000:], z["y"][4000:]
    auc = roc_auc_score(y, xgb.Booster(model_file=WORK / "score.ubj").predict(xgb.DMatrix(x)))
    note("validate", auc=f"{auc:.5f}", threshold=0.7, passed=auc > 0.7)
    sys.exit(0 if auc > 0.7 else 3)


def export():
    raw = (WORK / "score.ubj").read_bytes()
    Path("score-current.ubj").write_bytes(raw)
    Path("score-current.json").write_text(json.dumps({"bytes": len(raw), "at": time.time()}))
    note("export", bytes=len(raw), target="score-current.ubj")


stage = sys.argv[1] if len(sys.argv) > 1 else "all"
if stage == "all":
    for one in ("ingest", "train", "validate", "export"):
        note(one, status="begin")
        subprocess.run([sys.executable, __file__, one], check=True)
        note(one, status="ok")
    note("all", status="ok")
else:
    globals()[stage]()
