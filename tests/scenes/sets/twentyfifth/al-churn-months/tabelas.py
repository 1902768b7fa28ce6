"""Tabelas de exemplo: clientes e um ficheiro de eventos por mes, como saem do armazem."""
import os

import numpy as np
import pandas as pd


def main():
    rng = np.random.default_rng(21)
    os.makedirs("dados", exist_ok=True)
    n = 900
    f = rng.normal(size=(n, 6)).round(3)
    cli = pd.DataFrame(f, columns=["idade", "saldo", "uso", "queixas", "antiguidade", "plano"])
    cli.insert(0, "cliente", [str(i) for i in range(1, n + 1)])
    cli.to_csv("dados/clientes.csv", index=False)
    w = np.array([0.4, -1.4, -1.8, 1.9, -0.9, 0.3])
    for m in range(1, 13):
        k = rng.choice(n, 260, replace=False)
        y = (f[k] @ w + 0.7 * rng.normal(size=260) > 0).astype(int)
        ids = [f"{i + 1:07d}" if m >= 7 else str(i + 1) for i in k]
        pd.DataFrame({"cliente": ids, "saiu": y}).to_csv(f"dados/2023-{m:02d}.csv", index=False)


if __name__ == "__main__":
    main()
