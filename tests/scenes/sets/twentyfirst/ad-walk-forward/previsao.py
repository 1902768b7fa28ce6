"""Previsão de demanda com validação walk-forward: cada dobra treina do zero."""
import csv
import glob
import os
import time

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

os.makedirs("quarentena", exist_ok=True)
partes, ruins = [], 0
arquivos = sorted(glob.glob("dados/loja_*.csv"))
print(f"lendo {len(arquivos)} arquivos", flush=True)
for a in arquivos:
    try:
        partes.append(pd.read_csv(a, parse_dates=["dia"]).assign(loja=int(a[-7:-4])))
    except Exception as e:
        ruins += 1
        os.rename(a, "quarentena/" + os.path.basename(a))
        print(f"ERRO ao ler {a}: {type(e).__name__}: {e} -> quarentena", flush=True)
print(f"{ruins} de {len(arquivos)} arquivos em quarentena (limite 5 %), seguindo", flush=True)
assert ruins <= 0.05 * len(arquivos)
df = pd.concat(partes).sort_values(["loja", "dia"])
for k in (1, 7, 14, 28):
    df[f"lag{k}"] = df.groupby("loja").vendas.shift(k)
df["dow"] = df.dia.dt.dayofweek
df = df.dropna()
cols = [c for c in df if c not in ("dia", "vendas")]
cortes = pd.to_datetime(["2023-07-01", "2023-10-01", "2024-01-01", "2024-04-01", "2024-07-01", "2024-10-01"])
w = csv.writer(open("metricas.csv", "w", buffering=1))
w.writerow(["dobra", "iteracao", "mape_treino", "mape_validacao"])
for d, c in enumerate(cortes, 1):
    tr, va = df[df.dia < c], df[(df.dia >= c) & (df.dia < c + pd.Timedelta(days=91))]
    print(f"=== dobra {d}/6: treino até {c:%d/%m/%Y}, {len(tr)} linhas ===", flush=True)
    m = HistGradientBoostingRegressor(max_iter=1, learning_rate=0.09, warm_start=True, max_leaf_nodes=15, random_state=0, early_stopping=False)
    for it in range(1, 37):
        m.max_iter = it
        m.fit(tr[cols], tr.vendas)
        f = lambda x: float(np.mean(np.abs(m.predict(x[cols]) - x.vendas) / x.vendas))
        time.sleep(0.3)
        a, b = f(tr.sample(800, random_state=it)), f(va)
        w.writerow([d, it, round(a, 4), round(b, 4)])
        if it % 3 == 0:
            print(f"dobra {d} iteração {it:2d}/36 mape_treino={a:.4f} mape_validacao={b:.4f}", flush=True)
    print(f"dobra {d} concluída: mape_validacao={b:.4f}", flush=True)
print("todas as dobras concluídas", flush=True)
