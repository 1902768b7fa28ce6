"""CatBoost, parça parça eğitim; pahalı saatlerde bekler ve kaldığı yerden devam eder."""
import datetime as dt
import time

import numpy as np
from catboost import CatBoostRegressor, Pool

PARCA, TUR = 9, 16
rng = np.random.default_rng(4)
X = rng.normal(size=(3000, 10))
y = 2 * X[:, 0] + X[:, 1] * X[:, 2] + np.cos(X[:, 3]) + rng.normal(0, 0.4, 3000)
egitim, sinama = Pool(X[:2400], y[:2400]), Pool(X[2400:], y[2400:])


def yaz(s):
    print(dt.datetime.now().strftime("%d.%m.%Y %H:%M:%S"), s, flush=True)


class Izle:
    def __init__(self, parca):
        self.parca = parca

    def after_iteration(self, info):
        time.sleep(0.4)
        if info.iteration % 2 == 0:
            yaz(f"parça {self.parca}/{PARCA} tur {(self.parca - 1) * TUR + info.iteration} "
                f"rmse={info.metrics['validation']['RMSE'][-1]:.4f}")
        return True


model = None
for p in range(1, PARCA + 1):
    if p == 6:
        devam = dt.datetime.now() + dt.timedelta(seconds=70)
        yaz(f"DURAKLATILDI: elektrik tarifesi yüksek, {devam:%H:%M:%S} saatinde devam edilecek")
        while dt.datetime.now() < devam:
            time.sleep(1)
        yaz("devam ediliyor, model_5.cbm yüklendi")
        model = CatBoostRegressor().load_model("model_5.cbm")
    m = CatBoostRegressor(iterations=TUR, learning_rate=0.12, depth=4, thread_count=1, verbose=False, allow_writing_files=False)
    m.fit(egitim, eval_set=sinama, init_model=model, callbacks=[Izle(p)])
    m.save_model(f"model_{p}.cbm")
    yaz(f"parça {p} bitti, model_{p}.cbm kaydedildi")
    model = m
yaz("eğitim tamamlandı")
