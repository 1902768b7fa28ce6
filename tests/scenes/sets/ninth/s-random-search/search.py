import os
import time

os.environ["OMP_NUM_THREADS"] = "1"
import joblib
import numpy as np
from scipy.stats import loguniform
from sklearn.metrics import classification_report
from sklearn.model_selection import RandomizedSearchCV, StratifiedKFold, train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


class PacedMLP(MLPClassifier):
    """One fit at a time, politely: the box is not ours alone."""

    def fit(self, X, y):
        time.sleep(1.3)
        return super().fit(X, y)


rng = np.random.default_rng(12)
y = rng.choice(4, size=900, p=[0.5, 0.3, 0.185, 0.015])
x = rng.normal(size=(900, 10)) + np.eye(4, 10)[y] * 2.2
xt, xv, yt, yv = train_test_split(x, y, test_size=0.25, random_state=0, stratify=y)
space = {
    "pacedmlp__hidden_layer_sizes": [(8,), (16,), (32,), (16, 16)],
    "pacedmlp__alpha": loguniform(1e-5, 1e-1),
    "pacedmlp__learning_rate_init": loguniform(5e-4, 3e-2),
    "pacedmlp__activation": ["relu", "tanh"],
}
search = RandomizedSearchCV(
    make_pipeline(StandardScaler(), PacedMLP(max_iter=25, random_state=0)), space,
    n_iter=10, cv=StratifiedKFold(3), verbose=3, random_state=4, scoring="accuracy",
)
search.fit(xt, yt)
print(f"best score {search.best_score_:.4f}")
print(search.best_params_)
print(classification_report(yv, search.predict(xv)))
joblib.dump(search.best_estimator_, "best.joblib")
