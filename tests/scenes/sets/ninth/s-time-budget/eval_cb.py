import sys

import numpy as np
from catboost import CatBoostRegressor

from dataset import table

model = CatBoostRegressor().load_model(sys.argv[1])
x, y, _ = table(800, seed=9)
print(f"test rmse {np.sqrt(((model.predict(x) - y) ** 2).mean()):.4f}")
