import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import time
import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset
from tqdm import trange

torch.set_num_threads(1)
torch.manual_seed(0)


class Recordings(Dataset):
    """decoding a recording is slow, so keep what was decoded"""

    def __init__(self, n):
        self.n = n
        self.decoded = {}

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if i not in self.decoded:
            self.decoded[i] = np.random.default_rng(i).standard_normal((12, 36000), dtype=np.float32)
        sig = self.decoded[i]
        return torch.from_numpy(sig[:, ::300].copy()), float(i % 2)


data = Recordings(6000)
model = nn.Sequential(nn.Conv1d(12, 16, 5, stride=2), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(16, 1))
opt = torch.optim.RMSprop(model.parameters(), lr=1e-3)
order = torch.randperm(len(data)).tolist()
for epoch in range(3):
    bar = trange(0, len(order), 2, desc=f"Epoch {epoch}", unit="batch")
    for k in bar:
        xs, ys = zip(*(data[i] for i in order[k:k + 2]))
        loss = nn.functional.binary_cross_entropy_with_logits(model(torch.stack(xs)).squeeze(-1), torch.tensor(ys))
        opt.zero_grad()
        loss.backward()
        opt.step()
        bar.set_postfix({"loss": f"{loss.item():.4f}"}, refresh=False)
        time.sleep(0.13)
    torch.save(model.state_dict(), f"ecg_{epoch}.pth")
