import sys, time, urllib.request
import torch, torch.nn as nn
from torch.utils.data import DataLoader, IterableDataset

torch.set_num_threads(1)
torch.manual_seed(0)
URL = f"http://127.0.0.1:{open('shardd.port').read()}/shard/"


class Units(IterableDataset):
    def __iter__(self):
        for n in range(100000):
            raw = urllib.request.urlopen(URL + str(n)).read()
            rows = torch.frombuffer(bytearray(raw), dtype=torch.uint8).long().view(64, 129)
            yield from rows[:, :65] % 100


class UnitLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.rnn, self.out = nn.Embedding(100, 48), nn.GRU(48, 64, batch_first=True), nn.Linear(64, 100)

    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])


model = UnitLM()
opt = torch.optim.AdamW(model.parameters(), 1e-3)
loader = DataLoader(Units(), batch_size=16, num_workers=1, prefetch_factor=2)
total, t = 1500, time.time()
print(f"{'step':>6} {'loss':>8} {'tok/s':>8} {'ms/step':>8}", flush=True)
for step, batch in enumerate(loader, 1):
    loss = nn.functional.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
    opt.zero_grad(); loss.backward(); opt.step()
    time.sleep(0.1)
    if step % 10 == 0:
        dt, t = time.time() - t, time.time()
        print(f"{step:>6} {loss.item():>8.4f} {16 * 64 * 10 / dt:>8.0f} {dt * 100:>8.0f}", flush=True)
    if step >= total:
        break
print("done")
