import json, sys, time, numpy as np
from sklearn.neural_network import MLPRegressor
cfg = json.load(open(sys.argv[1])); r = np.random.default_rng(cfg["graine"])
X = r.normal(size=(800, 6)); y = X[:, 0] * 2 - X[:, 1] ** 2 + r.normal(0, .3, 800)
m = MLPRegressor(hidden_layer_sizes=(24,), learning_rate_init=3e-3, random_state=0)
print(f"[{cfg['nom']}] {len(X)} exemples, {X.shape[1]} variables")
for e in range(1, cfg["epoques"] + 1):
    m.partial_fit(X[:600], y[:600])
    val = float(np.mean((m.predict(X[600:]) - y[600:]) ** 2))
    print(f"[{cfg['nom']}] époque {e}/{cfg['epoques']} perte={m.loss_:.4f} perte_validation={val:.4f}")
    time.sleep(.6)
print(f"[{cfg['nom']}] modèle enregistré")
