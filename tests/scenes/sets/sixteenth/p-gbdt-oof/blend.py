import numpy as np

a, b = np.load("oof_lgb.npy"), np.load("oof_cat.npy")
print("Korrelation der Modelle", round(float(np.corrcoef(a, b)[0, 1]), 4))
np.save("oof_mittel.npy", (a + b) / 2)
print("Mittel gespeichert: oof_mittel.npy")
