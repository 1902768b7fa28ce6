import json
import time
from datetime import datetime
from pathlib import Path

import pandas as pd
import xgboost as xgb

MODELO, ESTADO = Path("modelo.ubj"), Path("estado.json")


def di(texto):
    print(f"{datetime.now():%Y-%m-%d %H:%M:%S} | {texto}", flush=True)


class Pausa(xgb.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        time.sleep(0.2)
        rmse = evals_log["lote"]["rmse"][-1]
        if (epoch + 1) % 4 == 0:
            di(f"ronda {epoch + 1:4d}  rmse del lote {rmse:.4f}")
        return False


def main():
    hechos = json.loads(ESTADO.read_text())["dia"] if ESTADO.exists() else 0
    if hechos:
        di(f"se retoma después del día {hechos}")
    for dia in range(hechos + 1, 31):
        df = pd.read_csv(f"lotes/dia_{dia:02d}.csv")
        di(f"día {dia}: {len(df)} filas")
        lote = xgb.DMatrix(df.drop(columns="demanda"), df.demanda)
        previo = None
        if MODELO.exists():
            previo = xgb.Booster(model_file=MODELO)
            error = previo.eval(lote, "antes").split(":")[-1]
            di(f"día {dia}: rmse antes de entrenar {float(error):.4f}")
        bst = xgb.train({"eta": .08, "max_depth": 4, "nthread": 1}, lote, 12, evals=[(lote, "lote")],
                        xgb_model=previo, callbacks=[Pausa()], verbose_eval=False)
        tmp = MODELO.with_name("modelo.nuevo.ubj")
        bst.save_model(tmp)
        tmp.rename(MODELO)
        ESTADO.write_text(json.dumps({"dia": dia}))
        di(f"día {dia}: modelo guardado ({bst.num_boosted_rounds()} árboles)")
    di("todos los lotes entrenados")


if __name__ == "__main__":
    main()
