import sys
import numpy as np

rng = np.random.default_rng(int(sys.argv[1]))
n, genes = 420, 300
y = rng.integers(0, 2, n)
base = rng.gamma(2.0, 30.0, genes)
fold = np.ones(genes)
fold[:25] = rng.choice([0.45, 2.1], 25)
mu = base * np.where(y[:, None] == 1, fold, 1.0) * rng.lognormal(0, 0.35, (n, 1))
disp = 0.4
counts = rng.negative_binomial(1 / disp, 1 / (1 + mu * disp))
np.savez_compressed(sys.argv[2], counts=counts.astype("int32"), y=y)
print(f"simulated {n} samples x {genes} genes, {y.sum()} cases")
