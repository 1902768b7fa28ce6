import argparse
import json
import os
import time

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.preprocessing import PolynomialFeatures

p = argparse.ArgumentParser()
p.add_argument("--degree", type=int)
p.add_argument("--alpha", type=float)
a = p.parse_args()
tag = f"d{a.degree}-a{a.alpha:g}"

rng = np.random.default_rng(5)
x = rng.normal(size=(600, 40))
y = x[:, 0] * x[:, 1] - x[:, 2] ** 2 + rng.normal(scale=0.1, size=600)

scores = []
for fold in range(5):
    test = np.arange(600) % 5 == fold
    poly = PolynomialFeatures(a.degree, interaction_only=False)
    train_x = poly.fit_transform(x[~test])
    model = Ridge(alpha=a.alpha, solver="auto").fit(train_x, y[~test])
    scores.append(r2_score(y[test], model.predict(poly.transform(x[test]))))
    print(f"{time.strftime('%H:%M:%S')} [{tag}] fold {fold} features={train_x.shape[1]} r2={scores[-1]:.4f}")
    time.sleep(1.2)
os.makedirs("results", exist_ok=True)
with open(f"results/{tag}.json", "w") as f:
    json.dump({"degree": a.degree, "alpha": a.alpha, "r2": float(np.mean(scores))}, f)
print(f"{time.strftime('%H:%M:%S')} [{tag}] mean r2={np.mean(scores):.4f}")
