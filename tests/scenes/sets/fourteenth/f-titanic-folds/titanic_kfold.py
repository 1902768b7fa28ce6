import time
import numpy as np
import pandas as pd
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from torch import nn

# ---- load
rng = np.random.default_rng(4)
N = 800
df = pd.DataFrame({"Age": rng.normal(30, 13, N).clip(1, 80).round(), "Fare": rng.lognormal(3, 1, N).round(2),
                   "Sex": rng.choice(["male", "female"], N), "Pclass": rng.integers(1, 4, N),
                   "Cabin": rng.choice(["C85", "E46", "B28"], N)})
df.loc[rng.random(N) < 0.2, "Age"] = np.nan
df.loc[rng.random(N) < 0.77, "Cabin"] = np.nan
score = (df.Sex == "female") * 2.2 - 0.6 * df.Pclass + 0.01 * df.Fare.clip(0, 100) + rng.normal(0, 1, N)
df["Survived"] = (score > score.median()).astype(int)
print(df.head(10))
print(df.isna().sum())
print(df.describe(include="all").T)

# ---- features
X = pd.get_dummies(df.drop(columns=["Cabin", "Survived"]), dtype=float)
X["Age"] = X.Age.fillna(X.Age.median())
raw = X.to_numpy()
X = ((X - X.mean()) / X.std()).to_numpy(dtype="float32")
y = df.Survived.to_numpy(dtype="float32")

# ---- baseline
base = LogisticRegression(max_iter=5).fit(raw, y)
print("baseline accuracy", base.score(raw, y))

# ---- 4 folds
scores = []
for fold, (tr, va) in enumerate(StratifiedKFold(4, shuffle=True, random_state=0).split(X, y)):
    torch.manual_seed(fold)
    net = nn.Sequential(nn.Linear(X.shape[1], 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 1))
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    hist = []
    for epoch in range(12):
        net.train()
        losses = []
        for idx in np.array_split(np.random.permutation(tr), 12):
            loss = nn.functional.binary_cross_entropy_with_logits(net(torch.tensor(X[idx]))[:, 0], torch.tensor(y[idx]))
            opt.zero_grad(); loss.backward(); opt.step()
            losses.append(loss.item())
            time.sleep(0.1)
        row = {"fold": fold, "epoch": epoch, "loss": np.mean(losses)}
        if epoch % 3 == 2:
            net.eval()
            with torch.no_grad():
                out = net(torch.tensor(X[va]))[:, 0]
            row["val_loss"] = nn.functional.binary_cross_entropy_with_logits(out, torch.tensor(y[va])).item()
            row["val_auc"] = roc_auc_score(y[va], out.numpy())
        hist.append(row)
        if epoch % 2 == 1:
            print(pd.DataFrame(hist).tail(2).to_string(index=False), flush=True)
    scores.append(hist[-1]["val_auc"])
    print(f"fold {fold} auc {scores[-1]:.4f}\n", flush=True)
print(f"CV auc {np.mean(scores):.4f} +- {np.std(scores):.4f}")
