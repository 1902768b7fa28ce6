import numpy as np
from sklearn.datasets import make_regression

X, y = make_regression(900, 20, n_informative=12, noise=15, random_state=3)
np.savez_compressed("features.npz", X=X.astype("float32"), y=y.astype("float32"))
