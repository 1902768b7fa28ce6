import os
import sys

import numpy as np
import pandas as pd

ziel = sys.argv[1]
os.makedirs(ziel, exist_ok=True)
r = np.random.default_rng(31)
for s in ["bestand", "endkunden", "filialen", "gewerbe", "online"]:
    n = 1500
    d = pd.DataFrame({"preis": r.gamma(3, 20, n), "rabatt": r.choice([0, 5, 10, 20], n), "lager": r.poisson(40, n),
                      "woche": r.integers(1, 53, n)})
    d["menge"] = 60 - 0.3 * d.preis + 1.4 * d.rabatt + 0.1 * d.lager + 6 * np.sin(d.woche / 8) + r.normal(0, 4, n)
    if s == "gewerbe":
        d = d.rename(columns={"rabatt": "rabatt_prozent"})
    d.to_csv(f"{ziel}/{s}.csv", index=False, sep=";", decimal=",")
