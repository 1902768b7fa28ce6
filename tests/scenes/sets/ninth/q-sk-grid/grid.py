import sys
import time

import numpy as np
import pandas as pd
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

# One grid for all our sites. Sites with fewer sensors cannot have the widest PCA; these
# candidates drop out by themselves (error_score=nan).
GRID = {"pca__n_components": [4, 12, 48], "mlp__hidden_layer_sizes": [(16,), (48,)], "mlp__alpha": [1e-4, 1e-1]}


def features(x):
    time.sleep(0.5)
    return np.hstack([x, x ** 2])


def site(sensors=20, n=600):
    r = np.random.default_rng(sensors)
    x = r.normal(size=(n, sensors))
    y = (x[:, 0] ** 2 + x[:, 1] - 0.5 * x[:, 2] ** 2 + 0.5 * r.normal(size=n) > 0.4).astype(int)
    return x, y


def main():
    sensors = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    x, y = site(sensors)
    pipe = Pipeline([("feat", FunctionTransformer(features)), ("scale", StandardScaler()), ("pca", PCA(random_state=0)),
                     ("mlp", MLPClassifier(max_iter=25, early_stopping=False, random_state=0))])
    search = GridSearchCV(pipe, GRID, cv=3, verbose=3, scoring="accuracy", error_score=np.nan)
    print(f"site with {sensors} sensors, {len(x)} hours", flush=True)
    search.fit(x, y)
    table = pd.DataFrame(search.cv_results_)[["params", "mean_test_score", "rank_test_score"]].sort_values("rank_test_score")
    print(table.to_string(index=False))
    print("best:", search.best_params_, f"{search.best_score_:.4f}")


if __name__ == "__main__":
    main()
