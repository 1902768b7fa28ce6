"""Build the feature file of the day.  usage: feature_store.py OUT VERSION"""
import sys

import numpy as np
import pandas as pd

rng = np.random.default_rng(31)
n = 1500
d = pd.DataFrame({"age": rng.integers(18, 80, n), "income": rng.lognormal(10, 0.5, n), "utilisation": rng.random(n), "inquiries": rng.poisson(1.2, n)})
d["default"] = (rng.random(n) < 1 / (1 + np.exp(3 - 3 * d.utilisation - 0.4 * d.inquiries))).astype(int)
d["segment"] = rng.integers(0, 3, n) if sys.argv[2] == "1" else rng.choice(["A", "B", "C"], n)
d.to_csv(sys.argv[1] + ".new", index=False)
import os
os.replace(sys.argv[1] + ".new", sys.argv[1])
