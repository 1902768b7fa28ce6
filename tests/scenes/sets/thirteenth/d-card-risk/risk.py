"""Chargeback risk: which card payments will be disputed or failed."""
import logging, time, numpy as np, xgboost as xgb
from sklearn.metrics import confusion_matrix, roc_auc_score
logging.basicConfig(level=logging.INFO, format="%(asctime)s [%(levelname)s] %(name)s: %(message)s")
log = logging.getLogger("risk.train")
r = np.random.default_rng(11); n = 6000
X = r.normal(size=(n, 14)); s = X[:, 0] + X[:, 1] * X[:, 2] + r.normal(0, .8, n); y = (s > 1.6).astype(int)
names = ["n_failed_30d", "n_errors_3ds", "amount_z", "ip_dead_list", "killed_sessions", "declined", "timeouts_gw"] + [f"v{i}" for i in range(7)]
tr = xgb.DMatrix(X[:4500], y[:4500], feature_names=names); va = xgb.DMatrix(X[4500:], y[4500:], feature_names=names)
log.info("train=%d valid=%d positives=%.2f%%", 4500, n - 4500, 100 * y.mean())
class Tell(xgb.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        time.sleep(.3)
        if epoch % 10 == 0:
            e = evals_log["valid"]
            log.info("round=%d valid-logloss=%.5f valid-error=%.5f valid-aucpr=%.5f", epoch, e["logloss"][-1], e["error"][-1], e["aucpr"][-1])
        return False
b = xgb.train({"objective": "binary:logistic", "eval_metric": ["logloss", "error", "aucpr"], "eta": .08, "max_depth": 4, "nthread": 1, "seed": 1},
              tr, 130, evals=[(va, "valid")], verbose_eval=False, callbacks=[Tell()])
p = b.predict(va); log.info("auc=%.4f", roc_auc_score(y[4500:], p))
tn, fp, fn, tp = confusion_matrix(y[4500:], p > .5).ravel()
log.info("at 0.5: tn=%d fp=%d fn=%d tp=%d", tn, fp, fn, tp)
for k, g in sorted(b.get_score(importance_type="gain").items(), key=lambda kv: -kv[1])[:7]: log.info("gain %-16s %.2f", k, g)
b.save_model("risk.ubj"); log.info("written risk.ubj")
