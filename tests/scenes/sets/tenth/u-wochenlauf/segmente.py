import glob
import os
import sys
import time

import joblib
import numpy as np
import pandas as pd
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.metrics import mean_absolute_error

eingang, ziel = sys.argv[1:3]


def lade(datei):
    d = pd.read_csv(datei, sep=";", decimal=",")
    x = pd.DataFrame({
        "preis": d["preis"],
        "rabatt": d["rabatt"] / 100.0,
        "nettopreis": d["preis"] * (1 - d["rabatt"] / 100.0),
        "lager": np.log1p(d["lager"]),
        "woche_sin": np.sin(d["woche"] * 2 * np.pi / 52),
        "woche_cos": np.cos(d["woche"] * 2 * np.pi / 52),
    })
    return x, d["menge"]


dateien = sorted(glob.glob(f"{eingang}/*.csv"))
print(f"{len(dateien)} Segmente gefunden")
for nr, datei in enumerate(dateien, 1):
    segment = os.path.basename(datei)[:-4]
    x, y = lade(datei)
    schnitt = int(len(x) * 0.8)
    print(f"({nr}/{len(dateien)}) Segment {segment}: {len(x)} Zeilen, {x.shape[1]} Merkmale")
    beginn = time.time()
    modell = GradientBoostingRegressor(learning_rate=0.08, max_depth=3, warm_start=True, random_state=0, n_estimators=1)
    for runde in range(10, 101, 10):
        modell.set_params(n_estimators=runde)
        modell.fit(x[:schnitt], y[:schnitt])
        mae = mean_absolute_error(y[schnitt:], modell.predict(x[schnitt:]))
        print(f"    Bäume {runde:>3}  Fehler Training {modell.train_score_[-1]:9.3f}  MAE Test {mae:7.3f}")
        time.sleep(0.9)
    joblib.dump(modell, f"{ziel}/{segment}.joblib")
    print(f"    gespeichert: {ziel}/{segment}.joblib ({time.time() - beginn:.1f} s)")
print("alle Segmente trainiert")
