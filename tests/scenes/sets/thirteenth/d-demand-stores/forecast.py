"""Weekly demand forecast: one forest and one booster for every store."""
import sys, time, joblib, numpy as np, lightgbm as lgb
from pathlib import Path
from sklearn.ensemble import RandomForestRegressor
out = Path("registry/models"); out.mkdir(parents=True, exist_ok=True)
t0 = time.time()
def say(s): print(f"[{time.time() - t0:6.1f}s] {s}", flush=True)
def series(store):
    r = np.random.default_rng(store); t = np.arange(900)
    y = 50 + 10 * np.sin(t / 7 * 6.283) + 5 * np.sin(t / 365 * 6.283) + .01 * t + r.normal(0, 4, 900)
    x = np.stack([y[i:i - 28 or None] for i in range(28)], 1)[:, -21:]
    x = np.hstack([x, (t[28:, None] % 7)]); y = y[28:]
    return x[:-90], y[:-90], x[-90:], y[-90:]
stores = range(101, 141)
say(f"{len(stores)} stores, registry at {out}")
for n, store in enumerate(stores, 1):
    xt, yt, xv, yv = series(store)
    m = lgb.LGBMRegressor(n_estimators=60, num_leaves=15, verbose=-1, n_jobs=1).fit(xt, yt)
    f = RandomForestRegressor(12, max_depth=9, random_state=0).fit(xt, yt)
    p = (m.predict(xv) + f.predict(xv)) / 2
    mape = float(np.mean(np.abs(p - yv) / yv))
    time.sleep(1.2)
    joblib.dump({"lgb": m, "rf": f, "mape": mape}, out / f"store_{store}.joblib")
    say(f"store {store} ({n}/{len(stores)}) rmse={np.sqrt(np.mean((p - yv) ** 2)):.3f} mape={mape:.4f}")
say("all stores written")
