import pandas as pd, numpy as np, lightgbm as lgb, time
b = lgb.Booster(model_file="out/model.txt"); df = pd.read_csv("out/basket.csv"); y = df.pop("value")
for h in range(8, 20):
    k = df.hour == h; e = np.abs(b.predict(df[k]) - y[k]); print(f"hour {h:2d}: n={k.sum():3d} error mean {e.mean():6.3f} max {e.max():6.3f}"); time.sleep(.5)
