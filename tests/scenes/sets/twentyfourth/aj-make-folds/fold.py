"""One fold of the cross-validation: rare defect classes, an MLP trained epoch by epoch."""
import argparse
import json
import time
import warnings
from pathlib import Path

import joblib
import numpy as np
from sklearn.metrics import classification_report, f1_score, roc_auc_score
from sklearn.model_selection import KFold
from sklearn.neural_network import MLPClassifier

CLASSES, EPOCHS = 6, 45


def table():
    rng = np.random.default_rng(0)
    y = rng.choice(CLASSES, 900, p=[0.5, 0.25, 0.15, 0.06, 0.037, 0.003])
    x = rng.normal(size=(900, 14))
    x[np.arange(900), y * 2] += 2.0
    return x, y


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--fold", type=int, required=True)
    k = p.parse_args().fold
    Path(f"fold{k}.lock").touch()
    x, y = table()
    train, test = list(KFold(5, shuffle=True, random_state=1).split(x))[k]
    print(f"=== fold {k}: train {len(train)}, test {len(test)}, per class in test {np.bincount(y[test], minlength=CLASSES).tolist()}")
    net = MLPClassifier((24,), learning_rate_init=0.004, batch_size=64, random_state=k)
    for epoch in range(1, EPOCHS + 1):
        net.partial_fit(x[train], y[train], classes=np.arange(CLASSES))
        time.sleep(0.3)
        if epoch % 5 == 0:
            proba = net.predict_proba(x[test])
            aucs = []
            for c in range(CLASSES):
                with warnings.catch_warnings():
                    warnings.simplefilter("default")
                    aucs.append(roc_auc_score(y[test] == c, proba[:, c]))
            print(f"fold {k} epoch {epoch}/{EPOCHS} loss {net.loss_:.4f} auc per class " + " ".join(f"{a:.3f}" for a in aucs))
    pred = net.predict(x[test])
    print(classification_report(y[test], pred, labels=range(CLASSES), digits=3))
    Path(f"fold{k}.json").write_text(json.dumps({"f1": f1_score(y[test], pred, average="weighted")}))
    joblib.dump(net, f"fold{k}.joblib")
    print(f"fold {k} saved fold{k}.joblib")
    Path(f"fold{k}.lock").unlink()


if __name__ == "__main__":
    main()
