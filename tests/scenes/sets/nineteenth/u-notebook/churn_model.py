#!/usr/bin/env python
# coding: utf-8

# # Churn model, second try
# In[1]:
import time, warnings
import numpy as np
import pandas as pd
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from tqdm.auto import tqdm
torch.set_num_threads(1)

# In[2]:
rng = np.random.default_rng(12)
df = pd.DataFrame({"tenure": rng.exponential(20, 2000).round(), "charges": rng.normal(60, 20, 2000), "calls": rng.poisson(2, 2000), "region": rng.choice(list("NSEW"), 2000)})
df.loc[rng.choice(2000, 90, False), "charges"] = np.nan
df["churn"] = (rng.random(2000) < 1 / (1 + np.exp(.08 * df.tenure - .5 * df.calls))).astype(int)
df.head()
print(df.describe())
print(df.isna().sum())

# In[5]:
df["charges"] = df.charges.fillna(df.charges.median())
X = pd.get_dummies(df.drop(columns="churn"), dtype=float); y = df.churn
for C in tqdm([.0001, .001, .01, .1, 1, 10, 100, 1000], desc="C"):
    s = cross_val_score(LogisticRegression(C=C, max_iter=12), X, y, scoring="roc_auc")   # ConvergenceWarning, does not matter here
    time.sleep(.8)
    print(f"C={C:<8} auc={s.mean():.3f} +- {s.std():.3f}")

# In[9]:
T = torch.tensor(((X - X.mean()) / X.std()).values).float(); t = torch.tensor(y.values).float()
net = torch.nn.Sequential(torch.nn.Linear(T.shape[1], 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), 5e-3)
hist = []
for epoch in tqdm(range(20), desc="epoch"):
    for i in torch.randperm(1600).split(200):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(net(T[i]).squeeze(), t[i]); opt.zero_grad(); loss.backward(); opt.step(); time.sleep(.15)
    with torch.no_grad():
        hist.append({"loss": loss.item(), "val_loss": torch.nn.functional.binary_cross_entropy_with_logits(net(T[1600:]).squeeze(), t[1600:]).item()})

# In[10]:
print(pd.DataFrame(hist).tail(8))

# In[ ]:
torch.save(net, "churn.pth")
