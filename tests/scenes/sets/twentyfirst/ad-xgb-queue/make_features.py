import os
import numpy as np
import pandas as pd

os.makedirs("data", exist_ok=True)
rng = np.random.default_rng(5)
n = 12000
df = pd.DataFrame(rng.normal(size=(n, 14)), columns=[f"f{i:02d}" for i in range(14)])
z = df.f00 * 1.2 - df.f03 + 0.7 * df.f05 * df.f07 + rng.normal(0, 1.0, n)
df["churn"] = (z > 0.8).astype("int8")
df.to_parquet("data/features.parquet")
print("features written:", df.shape)
