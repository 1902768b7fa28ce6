#!/usr/bin/env python
"""tiny convnet on 8x8 digits. usage: digits.py [--epochs N] [--lr LR] [--out DIR]"""
import argparse, os, time
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

p = argparse.ArgumentParser()
p.add_argument('--epochs', type=int, default=12)
p.add_argument('--bs', type=int, default=48)
p.add_argument('--lr', type=float, default=2e-3)
p.add_argument('--seed', type=int, default=7)
p.add_argument('--out', default='runs/digits')
a = p.parse_args()
torch.manual_seed(a.seed)
np.random.seed(a.seed)
torch.set_num_threads(1)
os.makedirs(a.out, exist_ok=True)
print('args:', vars(a))

X, y = load_digits(return_X_y=True)
X = X.reshape(-1, 1, 8, 8).astype('float32') / 16
Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.2, random_state=a.seed, stratify=y)
Xtr, Xte, ytr, yte = map(torch.as_tensor, (Xtr, Xte, ytr, yte))
print(f'train {len(Xtr)}  test {len(Xte)}')


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 12, 3, padding=1)
        self.c2 = nn.Conv2d(12, 24, 3, padding=1)
        self.fc = nn.Linear(24 * 4, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        return self.fc(F.dropout(x.flatten(1), 0.2, self.training))


net = Net()
opt = torch.optim.AdamW(net.parameters(), lr=a.lr)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, a.epochs)
print('params:', sum(q.numel() for q in net.parameters()))
best = 0
for ep in range(1, a.epochs + 1):
    t0 = time.time()
    net.train()
    tot = n = 0
    for idx in torch.randperm(len(Xtr)).split(a.bs):
        loss = F.cross_entropy(net(Xtr[idx]), ytr[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() * len(idx)
        n += len(idx)
        time.sleep(0.08)
    sched.step()
    net.eval()
    with torch.no_grad():
        out = net(Xte)
        vl = F.cross_entropy(out, yte).item()
        acc = (out.argmax(1) == yte).float().mean().item()
    mark = ''
    if acc > best:
        best = acc
        torch.save(net.state_dict(), f'{a.out}/best.pt')
        mark = ' *'
    print(f'[{ep:2d}/{a.epochs}] train {tot/n:.4f}  test {vl:.4f}  acc {acc*100:.2f}%  {time.time()-t0:.1f}s{mark}', flush=True)
print(f'done, best acc {best*100:.2f}%')
