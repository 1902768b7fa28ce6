import pathlib

import numpy as np

r = np.random.default_rng(4)
x = r.normal(size=(3000, 20)).astype("float32")
logit = x[:, 0] * 2 - x[:, 1] * x[:, 2] + np.sin(2 * x[:, 3])
y = (r.random(3000) < 1 / (1 + np.exp(-2 * logit))).astype("float32")
pathlib.Path("work/features").mkdir(parents=True)
np.savez("work/features/credit.npz", x=x, y=y)
print("features written:", x.shape)
