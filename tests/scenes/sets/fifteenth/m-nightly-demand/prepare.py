import numpy as np
rng = np.random.default_rng(8)
FEATURES = ["price", "promo", "dow", "holiday", "stock", "temp", "rain", "lag1", "lag7", "lag14", "lag28", "trend"]
x = rng.standard_normal((4000, len(FEATURES))).astype("float32")
y = (x @ rng.standard_normal(len(FEATURES)) + rng.normal(0, .3, 4000)).astype("float32")
np.savez("train.npz", x=x, y=y)
# stores opened this month already carry the loyalty column
xv = np.hstack([x[:600], rng.standard_normal((600, 1)).astype("float32")])
np.savez("valid.npz", x=xv, y=y[:600])
