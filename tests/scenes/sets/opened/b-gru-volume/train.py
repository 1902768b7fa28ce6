import os
import time
import urllib.error
import urllib.request

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
while not os.path.exists("port"):
    time.sleep(0.2)
URL = f"http://127.0.0.1:{open('port').read()}/block"
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def block():
    while True:
        try:
            with opener.open(URL, timeout=30) as r:
                return torch.from_numpy(np.frombuffer(r.read(), dtype=np.uint8).reshape(64, 96).copy()).long() % 128
        except urllib.error.HTTPError as e:
            if e.code != 429:
                raise
            time.sleep(0.5)


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.r, self.h = nn.Embedding(128, 24), nn.GRU(24, 32, batch_first=True), nn.Linear(32, 128)

    def forward(self, x):
        return self.h(self.r(self.e(x))[0])


net = LM()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
seen, t0, acc = 0, time.time(), []
while True:
    b = block()[:16, :32].sort(1).values
    loss = nn.functional.cross_entropy(net(b[:, :-1]).flatten(0, 1), b[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.12)
    seen += b.numel()
    acc.append(loss.item())
    if time.time() - t0 > 3:
        print(f"loss {np.mean(acc):.3f}   {seen / (time.time() - t0):7.0f} tok/s   lr 1.0e-03", flush=True)
        seen, t0 = 0, time.time()
        acc.clear()
