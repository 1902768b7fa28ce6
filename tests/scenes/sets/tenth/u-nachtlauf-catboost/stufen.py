import hashlib
import json
import shutil
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from catboost import CatBoostRegressor, Pool

KAT = ["filiale", "wochentag"]


def meldung(text):
    print(f"[{time.strftime('%H:%M:%S')}] {text}", flush=True)


def auszug(ziel):
    r = np.random.default_rng(int(time.strftime("%j")))
    teile = []
    for filiale in ("Ulm", "Kassel", "Jena", "Bremen", "Passau"):
        n = 900
        tag = r.integers(0, 7, n)
        temp = r.normal(12, 8, n)
        umsatz = 900 + 120 * (tag >= 5) + 9 * temp + 60 * len(filiale) + r.normal(0, 70, n)
        teile.append(pd.DataFrame({"filiale": filiale, "wochentag": tag.astype(str), "temperatur": temp,
                                   "aktion": r.integers(0, 2, n), "umsatz": umsatz}))
        meldung(f"Auszug {filiale}: {n} Zeilen")
        time.sleep(1.2)
    pd.concat(teile).sample(frac=1, random_state=1).to_csv(ziel, index=False)


def _teile(datei):
    df = pd.read_csv(datei, dtype={"wochentag": str})
    schnitt = int(len(df) * 0.8)
    x, y = df.drop(columns="umsatz"), df.umsatz
    return Pool(x[:schnitt], y[:schnitt], cat_features=KAT), Pool(x[schnitt:], y[schnitt:], cat_features=KAT)


class Takt:
    def after_iteration(self, info):
        time.sleep(0.12)
        return True


def training(datei, ziel):
    lernen, test = _teile(datei)
    meldung(f"Training mit {lernen.num_row()} Zeilen, Test mit {test.num_row()}")
    m = CatBoostRegressor(iterations=260, learning_rate=0.06, depth=4, thread_count=1, random_seed=2,
                          loss_function="RMSE", allow_writing_files=False, verbose=20)
    m.fit(lernen, eval_set=test, callbacks=[Takt()])
    m.save_model(ziel)
    meldung(f"Modell gespeichert: {ziel} ({Path(ziel).stat().st_size // 1024} KiB)")


def pruefung(datei, modell, ziel):
    _, test = _teile(datei)
    m = CatBoostRegressor().load_model(modell)
    rmse = float(np.sqrt(np.mean((m.predict(test) - np.asarray(test.get_label())) ** 2)))
    gestern = 74.9
    meldung(f"Prüfung: RMSE heute {rmse:.2f}, gestern {gestern:.2f}, erlaubt bis {gestern * 1.1:.2f}")
    if rmse > gestern * 1.1:
        sys.exit("Prüfung nicht bestanden")
    Path(ziel).write_text(json.dumps({"rmse": rmse, "gestern": gestern}))
    meldung("Prüfung bestanden")


def ausliefern(modell, ziel):
    ablage = Path("ablage")
    ablage.mkdir(exist_ok=True)
    shutil.copy(modell, ablage / "umsatz_aktuell.cbm")
    Path(ziel).write_text(hashlib.sha256(Path(modell).read_bytes()).hexdigest())
    meldung("ausgeliefert nach ablage/umsatz_aktuell.cbm")


{"auszug": auszug, "training": training, "pruefung": pruefung, "ausliefern": ausliefern}[sys.argv[1]](*sys.argv[2:])
