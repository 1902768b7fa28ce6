# ---
# jupyter:
#   jupytext: {formats: "ipynb,py:percent"}
# ---

# %% [markdown]
# # Conversion of quotes - incremental models

# %%
import time

import joblib
import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score
from sklearn.preprocessing import StandardScaler

console = Console(width=100)
rng = np.random.default_rng(42)
w = rng.normal(0, 0.7, 20)


def chunk(n):
    x = rng.normal(0, 1, (n, 20)) * np.linspace(1, 40, 20)
    z = (x / np.linspace(1, 40, 20)) @ w
    return x, (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int)


# %% A quick baseline without scaling
x0, y0 = chunk(3000)
base = LogisticRegression(max_iter=5, solver="lbfgs").fit(x0, y0)
xv, yv = chunk(4000)
console.print(f"baseline AUC [bold]{roc_auc_score(yv, base.predict_proba(xv)[:, 1]):.4f}[/]")

# %% Scaled, chunk by chunk
scaler = StandardScaler().fit(x0)
models = {a: SGDClassifier(loss="log_loss", alpha=a, random_state=1, average=True) for a in (1e-2, 1e-3, 1e-4)}
for k in range(1, 61):
    x, y = chunk(500)
    for m in models.values():
        m.partial_fit(scaler.transform(x), y, classes=[0, 1])
    time.sleep(0.5)
    if k % 10 == 0:
        t = Table(title=f"after chunk {k}/60")
        for c in ("alpha", "log loss", "auc", "brier"):
            t.add_column(c, justify="right")
        for a, m in models.items():
            p = m.predict_proba(scaler.transform(xv))[:, 1]
            t.add_row(f"{a:g}", f"{log_loss(yv, p):.4f}", f"{roc_auc_score(yv, p):.4f}", f"{brier_score_loss(yv, p):.4f}")
        console.print(t)

# %% Calibrate the best
best = min(models, key=lambda a: log_loss(yv, models[a].predict_proba(scaler.transform(xv))[:, 1]))
console.rule(f"calibrating alpha={best:g}")
xc, yc = chunk(4000)
cal = CalibratedClassifierCV(FrozenEstimator(models[best]), method="isotonic").fit(scaler.transform(xc), yc)
p = cal.predict_proba(scaler.transform(xv))[:, 1]
console.print(f"calibrated: brier {brier_score_loss(yv, p):.4f}, log loss {log_loss(yv, np.clip(p, 1e-6, 1 - 1e-6)):.4f}")

# %%
try:
    import matplotlib.pyplot as plt

    plt.hist(p, 30)
    plt.savefig("calibration.png")
except ImportError:
    console.print("[dim]matplotlib is not installed here, no plot[/]")
time.sleep(3)

# %%
joblib.dump({"scaler": scaler, "model": cal}, "pricing.joblib")
console.print("saved pricing.joblib")
