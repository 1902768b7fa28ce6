"""Genera los lotes diarios de demanda que deja el ERP en lotes/."""
from pathlib import Path

import numpy as np
import pandas as pd

Path("lotes").mkdir(exist_ok=True)
for dia in range(1, 31):
    r = np.random.default_rng(dia)
    n = 400
    df = pd.DataFrame({
        "precio": r.gamma(3, 4, n), "stock": r.integers(0, 90, n), "dia_semana": (dia % 7) * np.ones(n, int),
        "temperatura": r.normal(18, 6, n), "tienda": r.integers(0, 12, n),
    })
    if dia >= 9:  # campaña de verano: el ERP exporta también el descuento
        df["descuento"] = r.choice([0, 5, 10], n)
    df["demanda"] = 30 - df.precio + .2 * df.stock + .5 * df.temperatura + r.normal(0, 2, n)
    df.to_csv(f"lotes/dia_{dia:02d}.csv", index=False)
