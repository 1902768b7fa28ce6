#!/usr/bin/env python
# coding: utf-8

# # Attention pooling on bags of patches
# jupyter nbconvert --to script attention_toy.ipynb

# In[1]:


import time

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn as nn
from tqdm import tqdm

torch.manual_seed(0)
torch.set_num_threads(1)


# In[2]:


def bags(n, k=10, d=16):
    x = torch.randn(n, k, d)
    y = torch.rand(n) < 0.5
    x[y, 0, :4] += 2.0
    idx = torch.rand(n, k).argsort(1)
    return torch.gather(x, 1, idx[..., None].expand(-1, -1, d)), y.float()


class Pool(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.att = nn.Sequential(nn.Linear(d, 16), nn.Tanh(), nn.Linear(16, 1))
        self.out = nn.Linear(d, 1)

    def forward(self, x):
        a = self.att(x).softmax(1)
        return self.out((a * x).sum(1)).squeeze(1)


x, y = bags(960)
x.shape, y.mean()


# In[3]:


model = Pool()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
curve = []
for epoch in range(14):
    perm = torch.randperm(len(x))
    bar = tqdm(range(0, len(x), 48), desc=f"epoch {epoch}", ncols=90)
    for i in bar:
        b = perm[i:i + 48]
        loss = nn.functional.binary_cross_entropy_with_logits(model(x[b]), y[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.15)
        bar.set_postfix(loss=f"{loss.item():.3f}")
        curve.append(loss.item())


# In[4]:


plt.figure(figsize=(5, 3))
plt.plot(np.convolve(curve, np.ones(10) / 10, "valid"))
plt.xlabel("Schritt")
plt.savefig("curve.png")
plt.show()


# In[5]:


xt, yt = bags(400)
acc = ((model(xt) > 0) == (yt > 0.5)).float().mean().item()
print(f"test accuracy {acc:.3f}")
torch.save(model.state_dict(), "pool.pt")
