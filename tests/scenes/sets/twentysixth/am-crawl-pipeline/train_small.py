"""A look at the new tokens: a small LM over them has to get well below the unigram entropy."""
import glob
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
d = torch.tensor(np.concatenate([np.load(f) for f in sorted(glob.glob("tokens-*.npy"))]).astype("int64"))
p = torch.bincount(d).float() / len(d)
print(f"probe: {len(d)} tokens, unigram entropy {-(p * (p + 1e-9).log()).sum():.3f}", flush=True)
e, r, o = nn.Embedding(700, 64), nn.GRU(64, 128, batch_first=True), nn.Linear(128, 700)
opt = torch.optim.Adam([*e.parameters(), *r.parameters(), *o.parameters()], lr=3e-3)
for s in range(1, 191):
    i = torch.randint(len(d) - 33, (10,))
    x = torch.stack([d[k:k + 33] for k in i])
    loss = F.cross_entropy(o(r(e(x[:, :-1]))[0]).flatten(0, 1), x[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.2)
    if s % 10 == 0:
        print(f"probe: step {s}/190 loss {loss.item():.3f}", flush=True)
    if s % 60 == 0:
        torch.save([e.state_dict(), r.state_dict(), o.state_dict()], f"probe-{s}.pt")
print("probe: fine", flush=True)
