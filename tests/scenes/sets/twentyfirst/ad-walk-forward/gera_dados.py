"""Exporta as vendas de cada loja; duas lojas fecharam e vêm sem conteúdo."""
import os
import numpy as np
import pandas as pd

os.makedirs("dados", exist_ok=True)
rng = np.random.default_rng(9)
dias = pd.date_range("2022-07-01", "2024-12-31")
crise = (dias >= "2024-04-01") & (dias < "2024-06-01")
for l in range(1, 41):
    if l in (17, 31):
        open(f"dados/loja_{l:03d}.csv", "w").close()
        continue
    base = 80 + 20 * np.sin(2 * np.pi * dias.dayofweek / 7 + l) + 10 * np.sin(2 * np.pi * dias.dayofyear / 365)
    v = base * (1 + 0.08 * rng.normal(size=len(dias)))
    v = np.where(crise, v * (0.35 + 0.4 * rng.random(len(dias))), v)
    pd.DataFrame({"dia": dias, "vendas": v.round(1).clip(5)}).to_csv(f"dados/loja_{l:03d}.csv", index=False)
