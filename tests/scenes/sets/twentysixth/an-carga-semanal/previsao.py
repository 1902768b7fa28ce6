"""Previsão de carga por subestação, validação em janelas deslizantes (LightGBM)."""
import csv
import sys
import time

import lightgbm as lgb
import numpy as np

JANELAS, DIAS = 9, 28


class Registro:
    def info(self, m):
        print(f"[LightGBM] {m}", flush=True)

    def warning(self, m):
        print(f"[LightGBM] {m}", flush=True)


lgb.register_logger(Registro())


def carga(seed=4):
    r = np.random.default_rng(seed)
    t = np.arange(24 * DIAS * (JANELAS + 3))
    y = 50 + 20 * np.sin(2 * np.pi * t / 24) + 6 * np.sin(2 * np.pi * t / 168) + r.normal(size=t.size) * 2
    y[5200:5290] = 0.0          # desligamento programado da subestação
    x = np.stack([t % 24, (t // 24) % 7, np.roll(y, 168), np.roll(y, 336)], 1)
    return x[336:], y[336:]


def ritmo(env):
    time.sleep(0.16)


x, y = carga()
linhas = []
print(f"{JANELAS} janelas de {DIAS} dias, {len(y)} horas", flush=True)
for k in range(JANELAS):
    a, b, c = 24 * DIAS * k, 24 * DIAS * (k + 1), 24 * DIAS * (k + 1) + 24 * 14
    tr = lgb.Dataset(x[a:b], y[a:b])
    va = lgb.Dataset(x[b:c], y[b:c], reference=tr)
    print(f"janela {k + 1}/{JANELAS}: treino {b - a} h, validação {c - b} h", flush=True)
    m = lgb.train({"objective": "l1", "metric": "l1", "num_leaves": 63, "min_data_in_leaf": 40, "learning_rate": 0.2,
                   "num_threads": 1, "verbose": 0, "min_gain_to_split": 8.0}, tr, 60, [va], ["validação"],
                  callbacks=[lgb.log_evaluation(6), lgb.early_stopping(10), ritmo])
    p = m.predict(x[b:c])
    with np.errstate(divide="ignore", invalid="ignore"):
        mape = 100 * np.mean(np.abs(p - y[b:c]) / np.abs(y[b:c]))
    wape = 100 * np.abs(p - y[b:c]).sum() / np.abs(y[b:c]).sum()
    nota = "  (MAPE infinito: horas com carga zero, desligamento programado; vale o WAPE)" if not np.isfinite(mape) else ""
    print(f"janela {k + 1}: MAPE {mape:.2f} %  WAPE {wape:.2f} %  melhor iteração {m.best_iteration}{nota}", flush=True)
    m.save_model(f"modelo_{k + 1:02d}.txt")
    linhas.append((k + 1, mape, wape, m.best_iteration))
with open("resultado.csv", "w", newline="") as f:
    csv.writer(f).writerows([("janela", "mape", "wape", "iteracao"), *linhas])
print(f"WAPE médio {np.mean([l[2] for l in linhas]):.2f} %, resultado em resultado.csv", flush=True)
sys.exit(0)
