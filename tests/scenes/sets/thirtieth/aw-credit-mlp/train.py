import os
import time

import torch
from torch import nn
from tqdm import tqdm

torch.manual_seed(0)
torch.set_num_threads(1)
open("train.pid", "w").write(str(os.getpid()))
PACE = float(os.environ.get("PACE", "0.32"))

# synthetic loan table: 30 numeric columns, 4 categorical ones
N = 70000
num = torch.randn(N, 30)
cat = torch.stack([torch.randint(0, k, (N,)) for k in (7, 12, 50, 3)], 1)
w = torch.randn(30) / 5
y = (torch.rand(N) < torch.sigmoid(num @ w + 0.8 * torch.sin(num[:, 0] * num[:, 1]) + (cat[:, 0] - 3) / 4 - 1.2)).float()


class Net(nn.Module):
    def __init__(self, width=384):
        super().__init__()
        self.emb = nn.ModuleList(nn.Embedding(k, 8) for k in (7, 12, 50, 3))
        self.mlp = nn.Sequential(nn.Linear(62, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(0.1),
                                 nn.Linear(width, 128), nn.ReLU(), nn.Linear(128, 1))

    def forward(self, n, c):
        return self.mlp(torch.cat([n] + [e(c[:, i]) for i, e in enumerate(self.emb)], 1)).squeeze(1)


net = Net()
opt = torch.optim.AdamW(net.parameters(), 1e-3, weight_decay=1e-4)
bce = nn.BCEWithLogitsLoss()
BATCH = 256
for epoch in range(1, 11):
    total = 0
    order = torch.randperm(N)
    bar = tqdm(range(0, N, BATCH), desc=f"epoch {epoch}/10", mininterval=1, ncols=100)
    for k, i in enumerate(bar, 1):
        b = order[i:i + BATCH]
        loss = bce(net(num[b], cat[b]), y[b])
        opt.zero_grad()
        loss.backward(retain_graph=True)
        opt.step()
        total += loss
        bar.set_postfix(loss=f"{total.item() / k:.4f}")
        time.sleep(PACE)
    print(f"epoch {epoch} mean loss {total.item() / k:.4f}", flush=True)
    torch.save(net.state_dict(), "credit.pt")
