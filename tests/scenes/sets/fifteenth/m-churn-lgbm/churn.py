"""Monthly churn model."""
import logging, time
import numpy as np, lightgbm as lgb
from sklearn.metrics import roc_auc_score

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)-8s %(name)s - %(message)s")
log = logging.getLogger("churn")
lgb.register_logger(log)


def make(n=6000, seed=12):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 14))
    p = 1 / (1 + np.exp(-(1.2 * x[:, 0] - x[:, 3] * x[:, 5] + 0.4 * x[:, 7] - 1.5)))
    return x, (rng.random(n) < p).astype(int)


def main():
    x, y = make()
    tr, va, te = slice(0, 4000), slice(4000, 5000), slice(5000, None)
    log.info("rows %d, positives %.1f%%", len(y), 100 * y.mean())
    train = lgb.Dataset(x[tr], y[tr], feature_name=[f"f{i}" for i in range(14)])
    valid = train.create_valid(x[va], y[va])
    booster = lgb.train(
        dict(objective="binary", metric=["auc", "binary_logloss"], learning_rate=0.08, num_leaves=31, num_threads=1,
             min_data_in_leaf=40, verbosity=1),
        train, num_boost_round=1500, valid_sets=[valid], valid_names=["valid"],
        callbacks=[lgb.early_stopping(40, first_metric_only=True), lgb.log_evaluation(5), lambda env: time.sleep(0.4)])
    auc = roc_auc_score(y[te], booster.predict(x[te], num_iteration=booster.best_iteration))
    booster.save_model("churn.txt", num_iteration=booster.best_iteration)
    log.info("best iteration %d, test auc %.4f, model written to churn.txt", booster.best_iteration, auc)


main()
