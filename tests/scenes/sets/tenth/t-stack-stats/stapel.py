"""Stapelmodell (Stacking) für die Verweildauer im Krankenhaus. Aufruf: python stapel.py"""
import os
os.environ["OMP_NUM_THREADS"] = "1"
import logging, warnings
import numpy as np
import lightgbm as lgb
from sklearn.ensemble import ExtraTreesRegressor, StackingRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LassoCV, RidgeCV
from sklearn.model_selection import GridSearchCV, RepeatedKFold
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

logging.basicConfig(format="%(asctime)s %(levelname)-8s %(message)s", datefmt="%d.%m.%Y %H:%M:%S", level=logging.INFO)
logging.captureWarnings(True)
log = logging.getLogger()
rng = np.random.default_rng(8)
n, p = 420, 24
X = rng.normal(size=(n, p))
y = np.exp(1 + 0.3 * X[:, 0] - 0.25 * X[:, 1] * X[:, 2] + 0.1 * X[:, 3] ** 2 + rng.normal(0, 0.3, n))
log.info("Daten: %d Fälle, %d Merkmale, mittlere Verweildauer %.2f Tage", n, p, y.mean())
y = np.log(y)
kf = RepeatedKFold(n_splits=4, n_repeats=5, random_state=0)
rmse = lambda m: float(np.sqrt(-m.best_score_))

log.info("Schritt 1/4: LightGBM, Gittersuche")
g1 = GridSearchCV(lgb.LGBMRegressor(n_estimators=80, verbose=-1, n_jobs=1, random_state=0), {"num_leaves": [7, 15], "learning_rate": [0.05, 0.1]}, cv=kf, scoring="neg_mean_squared_error").fit(X, y)
log.info("  RMSE %.4f mit %s", rmse(g1), g1.best_params_)
log.info("Schritt 2/4: neuronales Netz, Gittersuche (dauert)")
g2 = GridSearchCV(make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=(32,), max_iter=30, random_state=0)), {"mlpregressor__alpha": [1e-4, 1e-2, 1.0], "mlpregressor__learning_rate_init": [0.003, 0.01]}, cv=kf, scoring="neg_mean_squared_error").fit(X, y)
log.info("  RMSE %.4f mit %s", rmse(g2), g2.best_params_)
log.info("Schritt 3/4: Stapel mit Extra-Trees, Kreuzvalidierung über 20 Teilungen (dauert lange)")
stack = StackingRegressor([("lgb", g1.best_estimator_), ("et", ExtraTreesRegressor(70, n_jobs=1, random_state=0)), ("kr", make_pipeline(StandardScaler(), KernelRidge(kernel="rbf", alpha=0.5)))], RidgeCV(), cv=4)
g3 = GridSearchCV(stack, {"final_estimator__alphas": [(0.1, 1.0, 10.0), (1.0, 30.0), (0.01, 0.1), (100.0,)]}, cv=kf, scoring="neg_mean_squared_error").fit(X, y)
log.info("  RMSE %.4f", rmse(g3))
log.info("Schritt 4/4: Vergleich mit LASSO")
lasso = make_pipeline(StandardScaler(), LassoCV(cv=5, n_alphas=30) if "n_alphas" in LassoCV().get_params() else LassoCV(cv=5)).fit(X, y)
log.info("  R² LASSO %.3f, Stapel %.3f (Trainingsdaten)", lasso.score(X, y), g3.best_estimator_.score(X, y))
np.save("vorhersage.npy", g3.best_estimator_.predict(X))
log.info("fertig")
