"""the shops' exports, as the ERP leaves them"""
import os

import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
os.makedirs("inbox", exist_ok=True)
for day in range(1, 11):
    n = 300
    df = pd.DataFrame({"precio": rng.uniform(1, 20, n).round(2), "promo": rng.integers(0, 2, n), "tienda": rng.integers(1, 30, n),
                       "dia_semana": day % 7, "temp": rng.normal(15, 6, n).round(1)})
    u = (80 / df.precio + 12 * df.promo + rng.normal(0, 2, n)).clip(0).round(1)
    df["unidades"] = u
    if day >= 5:
        # from the 5th on the ERP exports with the decimal comma of the new locale
        df["unidades"] = u.map(lambda v: f"{v:.1f}".replace(".", ","))
    df.to_csv(f"inbox/ventas_2026-11-{day:02d}.csv", index=False)
