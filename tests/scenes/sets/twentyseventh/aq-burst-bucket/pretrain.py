"""Streaming pretraining, in the way of litgpt: every iteration takes its chunk from the store."""
import os
import time
import urllib.request

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(9)
V, T, B, MAX = 64, 48, 8, 900
while not os.path.exists("store.port"):
    time.sleep(0.2)
url = f"http://127.0.0.1:{open('store.port').read()}/tokens"


class Stream(torch.utils.data.IterableDataset):
    """Chunks of raw tokens; the text in them is a walk that the raw bytes choose."""

    def __iter__(self):
        table = np.random.default_rng(3).integers(0, V, (V, 3))
        while True:
            raw = np.frombuffer(urllib.request.urlopen(url, timeout=120).read(), dtype=np.uint8)
            off = np.random.randint(0, len(raw) - B * (T + 1))
            pick = raw[off:off + B * (T + 1)].reshape(B, T + 1) % 3
            x = np.zeros((B, T + 1), dtype=np.int64)
            x[:, 0] = raw[off:off + B] % V
            for t in range(1, T + 1):
                x[:, t] = table[x[:, t - 1], pick[:, t]]
            yield torch.from_numpy(x)


class GPT(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(V, d), nn.Embedding(T, d)
        layer = nn.TransformerEncoderLayer(d, 4, 4 * d, dropout=0.0, batch_first=True, norm_first=True)
        self.h, self.lm_head = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(d, V)
        self.register_buffer("mask", torch.triu(torch.ones(T, T, dtype=torch.bool), 1))

    def forward(self, x):
        return self.lm_head(self.h(self.wte(x) + self.wpe.weight, mask=self.mask))


net = GPT()
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
data = iter(torch.utils.data.DataLoader(Stream(), batch_size=None))
os.makedirs("out/pretrain", exist_ok=True)
t_start = time.perf_counter()
for it in range(1, MAX + 1):
    t0 = time.perf_counter()
    x = next(data)
    loss = F.cross_entropy(net(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.25)
    dt = time.perf_counter() - t0
    print(f"Epoch 1 | iter {it} step {it} | loss train: {loss.item():.3f}, val: n/a | iter time: {dt * 1000:.2f} ms (step) "
          f"remaining time: {(MAX - it) * (time.perf_counter() - t_start) / it / 60:.1f} min", flush=True)
    if it % 120 == 0:
        torch.save(net.state_dict(), f"out/pretrain/step-{it:08d}.pth")
        print(f"Saving checkpoint to out/pretrain/step-{it:08d}.pth", flush=True)
